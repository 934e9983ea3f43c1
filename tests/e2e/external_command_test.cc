// `heaptape NAME` runs heaptape-NAME of the PATH.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

namespace fs = std::filesystem;
using tests::Ended;
using tests::expect_refusal;

class ExternalCommand : public testing::Test {
 protected:
  // A script on the PATH.
  void put(const std::string& name, const std::string& script, fs::perms mode = fs::perms::all) {
    std::ofstream(dir_.file(name)) << script;
    fs::permissions(dir_.file(name), mode);
  }
  Ended run(const std::vector<std::string>& words) {
    std::vector<std::string> all{"heaptape"};
    all.insert(all.end(), words.begin(), words.end());
    return tests::run({all, {"PATH=" + dir_.path().string() + ":/usr/bin:/bin"}});
  }

  tests::TempDir dir_;
};

TEST_F(ExternalCommand, GetsTheWordsBehindItsNameAsTheyAre) {
  put("heaptape-say", "#!/bin/sh\nfor word; do echo \"[$word]\"; done\n");
  const Ended ended = run({"say", "--help", "two words", "-o", ""});
  EXPECT_EQ(ended.out, "[--help]\n[two words]\n[-o]\n[]\n") << ended.describe();
}

TEST_F(ExternalCommand, EndsAsItsProgramEnds) {
  put("heaptape-three", "#!/bin/sh\nexit 3\n");
  EXPECT_EQ(run({"three"}).status, 3);
}

TEST_F(ExternalCommand, FindsThisHeaptapeInItsEnvironment) {
  put("heaptape-which", "#!/bin/sh\necho \"$HEAPTAPE\"\n");
  EXPECT_EQ(run({"which"}).out, fs::canonical(tests::heaptape_path()).string() + "\n");
}

TEST_F(ExternalCommand, TakesNoCommandOfOurs) {
  put("heaptape-info", "#!/bin/sh\necho another\n");
  expect_refusal(run({"info"}), "tape is required");
}

TEST_F(ExternalCommand, PassesOverFilesThatAreNoPrograms) {
  put("heaptape-text", "words\n", fs::perms::owner_read);
  fs::create_directory(dir_.file("heaptape-folder"));
  expect_refusal(run({"text"}), "there is no command 'text'");
  expect_refusal(run({"folder"}), "there is no command 'folder'");
}

// As pip puts both into the directory of scripts of an environment that is not activated.
TEST_F(ExternalCommand, IsFoundBesideHeaptape) {
  put("heaptape-beside", "#!/bin/sh\necho beside\n");
  fs::copy_file(tests::heaptape_path(), dir_.file("heaptape"));
  EXPECT_EQ(tests::run({{dir_.file("heaptape"), "beside"}, {"PATH=/usr/bin:/bin"}}).out,
            "beside\n");
}

TEST_F(ExternalCommand, SaysWhyItsProgramCannotRun) {
  put("heaptape-moved", "#!/no/such/python\n");
  expect_refusal(run({"moved"}), "cannot run '" + dir_.file("heaptape-moved") + "': No such file");
}

TEST_F(ExternalCommand, SaysWhereSweepAndTuneComeFrom) {
  for (const std::string name : {"sweep", "tune"}) {
    expect_refusal(run({name, "--help"}), "install heaptape's wheel with its extra [" + name + "]");
  }
}

TEST_F(ExternalCommand, IsProposedForAWordThatIsNearIt) {
  expect_refusal(run({"swep"}), "did you mean sweep?");
}

TEST_F(ExternalCommand, IsNoProgramOfAnotherFolder) {
  put("heaptape-x", "#!/bin/sh\necho ran\n");
  fs::create_directory(dir_.file("heaptape-"));
  put("heaptape-/x", "#!/bin/sh\necho ran\n");
  expect_refusal(run({"/x"}), "there is no command '/x'");
}

}  // namespace
}  // namespace heaptape
