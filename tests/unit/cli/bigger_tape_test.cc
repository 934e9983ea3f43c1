#include "cli/bigger_tape.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::cli {
namespace {

// A tape of two calls, and a manifest that lists it and another.
class BiggerTape : public testing::Test {
 protected:
  BiggerTape() {
    tests::write_tape(tape_, {tests::malloc_event(1, 0x1000), tests::free_event(0x1000)});
    tests::write_bytes(dir_.file("run.7.server.tape"), "");
  }
  void list(uint64_t events, const std::string& name = "run.7.server.tape") {
    schema::Manifest manifest;
    manifest.processes.resize(2);
    manifest.processes[0].tape = "run.tape";
    manifest.processes[0].events = 2;
    manifest.processes[1].tape = name;
    manifest.processes[1].executable = "/opt/server";
    manifest.processes[1].events = events;
    tests::write_bytes(tape_ + ".manifest.json", *schema::to_json(manifest));
  }
  std::string note() {
    std::ostringstream out;
    std::ostringstream err;
    Console console(out, err);
    note_bigger_tape(*schema::TapeReader::open(tape_), console);
    return err.str();
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("run.tape");
};

TEST_F(BiggerTape, IsNamedInOneLine) {
  list(1234);
  EXPECT_TRUE(note().starts_with("heaptape: note: '" + tape_ + "' is the tape of ")) << note();
  EXPECT_NE(note().find(" (2 calls); the tape that you want is probably '" +
                        dir_.file("run.7.server.tape") + "' (/opt/server, 1,234 calls)\n"),
            std::string::npos)
      << note();
}

TEST_F(BiggerTape, IsTenTimesAsLong) {
  list(20);
  EXPECT_NE(note(), "");
  list(19);
  EXPECT_EQ(note(), "");
}

TEST_F(BiggerTape, IsStillThere) {
  list(1234, "run.8.gone.tape");
  EXPECT_EQ(note(), "");
}

TEST_F(BiggerTape, LiesInTheSameFolder) {
  list(1234, "../" + dir_.path().filename().string() + "/run.7.server.tape");
  EXPECT_EQ(note(), "");
}

TEST_F(BiggerTape, IsNotSoughtWithoutAManifest) {
  EXPECT_EQ(note(), "");
  tests::write_bytes(tape_ + ".manifest.json", "{\"version\": 1, \"processes\": 3");
  EXPECT_EQ(note(), "");
}

TEST_F(BiggerTape, IsFoundInManifestsThatHaveStringsForNumbers) {
  tests::write_bytes(tape_ + ".manifest.json",
                     R"({"version": 1, "processes": [{"tape": "run.7.server.tape",
                         "executable": "/opt/server", "events": "1234"}]})");
  EXPECT_NE(note(), "");
}

}  // namespace
}  // namespace heaptape::cli
