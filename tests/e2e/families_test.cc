// Allocators by family: the library that -a takes, and the message if there is none.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::expect_refusal;
using tests::target_path;

// Directories that the loader is told to search first, with libraries older and newer than any
// other here.
class Families : public testing::Test {
 protected:
  Families() {
    tests::Random random(3);
    tests::write_tape(dir_.file("t"), tests::plausible_events(random, 1000));
    install("libreplay_mimalloc_old.so", "old");
    install("libreplay_mimalloc_new.so", "new");
  }
  void install(const std::string& library, const std::string& directory) {
    std::filesystem::create_directory(dir_.file(directory));
    std::filesystem::copy_file(target_path(library), dir_.file(directory) + "/libmimalloc.so.9");
  }
  tests::Ended run(const std::vector<std::string>& words) {
    std::vector<std::string> all = {"env",
                                    "LD_LIBRARY_PATH=" + dir_.file("old") + ":" + dir_.file("new"),
                                    tests::heaptape_path()};
    all.insert(all.end(), words.begin(), words.end());
    return tests::run(all);
  }
  tests::Ended replay(const std::vector<std::string>& specs) {
    std::vector<std::string> words = {"replay", dir_.file("t"), "-o", dir_.file("r.json")};
    for (const std::string& spec : specs) words.insert(words.end(), {"-a", spec});
    return run(words);
  }
  // The allocator in the report of a replay on `spec`.
  void expect_allocator(const std::string& spec, const std::string& part) {
    SCOPED_TRACE(spec);
    const auto ended = replay({spec});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    const std::string report = tests::read_bytes(dir_.file("r.json"));
    EXPECT_NE(report.find(part), std::string::npos) << report.substr(0, 2000);
  }

  tests::TempDir dir_;
};

TEST_F(Families, TakeTheNewestOfTheirLibraries) {
  expect_allocator("mimalloc", "\"version\": \"99.1.2\"");
  expect_allocator("mimalloc", "\"library\": \"" + dir_.file("new") + "/libmimalloc.so.9\"");
}

TEST_F(Families, TakeAVersionThatIsAskedFor) {
  expect_allocator("mimalloc@0.0.7", "\"library\": \"" + dir_.file("old") + "/libmimalloc.so.9\"");
}

TEST_F(Families, TakeALibraryOfAnyName) {
  std::filesystem::copy_file(target_path("libreplay_mimalloc_old.so"), dir_.file("my=mi.so"));
  expect_allocator("mimalloc@" + dir_.file("my=mi.so"), "\"family\": \"mimalloc\"");
  expect_allocator("lib:" + dir_.file("my=mi.so"), "\"family\": \"mimalloc\"");
}

// "link/.." is the directory above the link's target.
TEST_F(Families, TakeALibraryBehindALinkAndTwoDots) {
  install("libreplay_mimalloc_old.so", "far");
  std::filesystem::create_directory(dir_.file("far/below"));
  std::filesystem::create_directory_symlink(dir_.file("far/below"), dir_.file("link"));
  expect_allocator("mimalloc@" + dir_.file("link/../libmimalloc.so.9"), "\"family\": \"mimalloc\"");
}

TEST_F(Families, AreThoseOfTheExportsAndNotOfTheName) {
  std::filesystem::copy_file(target_path("libreplay_bare_malloc.so"), dir_.file("libmimalloc.so"));
  expect_allocator("lib:" + dir_.file("libmimalloc.so"), "\"family\": \"libmimalloc.so\"");
}

TEST_F(Families, KeepTheRunsOfALibraryThatDiesWhenItTellsItsVersion) {
  const auto ended = replay({"mimalloc@" + target_path("libreplay_mimalloc_dying.so"), "glibc"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(ended.out.find("statistics and version are missing"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nglibc"), std::string::npos) << ended.out;
}

// LD_PRELOAD takes none. The usable one behind it is found.
TEST_F(Families, PassOverLibrariesWhosePathHasABlank) {
  install("libreplay_mimalloc_new.so", "with blank");
  const std::string paths = "LD_LIBRARY_PATH=" + dir_.file("with blank") + ":" + dir_.file("old");
  const auto listed = tests::run({"env", paths, tests::heaptape_path(), "allocators", "--json"});
  EXPECT_EQ(listed.status, 0) << listed.describe();
  EXPECT_NE(listed.out.find(dir_.file("old") + "/libmimalloc"), std::string::npos) << listed.out;
  EXPECT_EQ(listed.out.find("with blank"), std::string::npos) << listed.out;
}

// Relative paths are told whole, without "./".
TEST_F(Families, TakeAPathFromTheWorkingDirectory) {
  const auto ended = tests::run({.words = {"heaptape", "replay", "t", "-a",
                                           "mimalloc@./old/libmimalloc.so.9", "-o", "r.json"},
                                 .folder = dir_.path()});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const std::string report = tests::read_bytes(dir_.file("r.json"));
  EXPECT_NE(report.find("\"library\": \"" + dir_.file("old") + "/libmimalloc.so.9\""),
            std::string::npos);
}

// That run fails, and others go on.
TEST_F(Families, FailARunOnALibraryThatCannotBeLoaded) {
  const std::string whole = tests::read_bytes(target_path("libreplay_mimalloc_old.so"));
  tests::write_bytes(dir_.file("cut.so"), whole.substr(0, 100));
  install("libreplay_mimalloc_new.so", "with:colon");
  for (const std::string path : {"cut.so", "with:colon/libmimalloc.so.9"}) {
    SCOPED_TRACE(path);
    const auto ended = replay({"mimalloc@" + dir_.file(path), "glibc"});
    EXPECT_EQ(ended.status, 1) << ended.describe();
    EXPECT_NE(ended.out.find("\nglibc"), std::string::npos) << ended.out;
  }
}

TEST_F(Families, AreRecordedWithoutAVersionThatTheLibraryDoesNotTell) {
  const std::string library = target_path("libreplay_silent_tcmalloc.so");
  const std::string script = "LD_PRELOAD=\"$LD_PRELOAD:" + library + "\" exec ls /";
  const auto ended = run({"record", "-o", dir_.file("x.tape"), "--", "sh", "-c", script});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  std::string info;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    const std::string path = entry.path();
    if (path.ends_with(".ls.tape")) info = run({"info", path}).out;
  }
  EXPECT_NE(info.find(library + " (tcmalloc)"), std::string::npos) << info;
}

TEST_F(Families, RefuseALibraryOfAnother) {
  const std::string mimalloc = target_path("libreplay_mimalloc_old.so");
  expect_refusal(replay({"jemalloc@" + mimalloc}),
                 "its exports show that the library is mimalloc; write mimalloc@" + mimalloc);
  const std::string other = target_path("libreplay_bare_malloc.so");
  expect_refusal(replay({"jemalloc@" + other}), "the library is not jemalloc; write lib:" + other);
}

TEST_F(Families, TakeTheLibcOfTheSystemByItsPath) {
  Dl_info info = {};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &info), 0);
  const auto ended = replay({"glibc@" + std::string(info.dli_fname)});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(replay({"glibc@" + target_path("libreplay_bare_malloc.so")}).status, 1);
}

TEST_F(Families, SayHowToNameAFileThatLooksLikeAVersion) {
  const auto ended =
      tests::run({.words = {"heaptape", "replay", "t", "-a", "mimalloc@t"}, .folder = dir_.path()});
  EXPECT_EQ(ended.status, 1) << ended.describe();
  EXPECT_NE(ended.err.find("'t' is no version of mimalloc; for the file, write mimalloc@./t"),
            std::string::npos)
      << ended.describe();
}

// Others run.
TEST_F(Families, FailARunOnAnotherGlibc) {
  const auto ended = replay({"glibc@1.0", "model:ideal"});
  EXPECT_EQ(ended.status, 1) << ended.describe();
  EXPECT_NE(ended.err.find("and no other can be loaded beside it"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("model:ideal"), std::string::npos) << ended.out;
}

TEST_F(Families, AreListedWithTheVersionAndThePathOfEachLibrary) {
  const std::string out = run({"allocators"}).out;
  const size_t newest = out.find("99.1.2  " + dir_.file("new") + "/libmimalloc.so.9\n");
  const size_t oldest = out.find("0.0.7   " + dir_.file("old") + "/libmimalloc.so.9\n");
  EXPECT_NE(newest, std::string::npos) << out;
  EXPECT_NE(oldest, std::string::npos) << out;
  EXPECT_LT(newest, oldest) << out;
  const std::string json = run({"allocators", "--json"}).out;
  EXPECT_NE(json.find("\"spec\": \"mimalloc@0.0.7\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"version\": \"99.1.2\""), std::string::npos) << json;
}

TEST_F(Families, ThatAreMissingFailAloneAndSayHowToGetThem) {
  const auto ended = replay({"glibc", "hardened_malloc", "mimalloc@1.2.3", "noop"});
  EXPECT_EQ(ended.status, 1) << ended.describe();
  for (const char* const part :
       {"'hardened_malloc' failed before the first call: ", "hardened_malloc is not installed here",
        "name its file: -a hardened_malloc@PATH", "'mimalloc@1.2.3' failed before the first call: ",
        "mimalloc 1.2.3 is not installed here"}) {
    EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
  }
  const auto report = schema::read_figures(dir_.file("r.json"));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->runs.at(0).failure, "");
  EXPECT_NE(report->runs.at(1).failure, "");
  EXPECT_EQ(report->runs.at(3).failure, "");
}

TEST_F(Families, WithAnUnknownNameAreRefusedBeforeAnythingRuns) {
  expect_refusal(replay({"glibc", "mymalloc@1.0"}), "there is no allocator 'mymalloc@1.0'");
  expect_refusal(replay({"glibc", "jemalloc@"}),
                 "a version or a path is missing after 'jemalloc@'");
}

}  // namespace
}  // namespace heaptape
