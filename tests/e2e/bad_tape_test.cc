// Files that are not tapes, or are damaged: every command says in one sentence what is wrong and
// where, and none crashes, hangs or leaves half a file.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include "cli/commands.h"
#include "schema/tape/chunk.h"
#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::expect_refusal;

class BadTape : public testing::Test {
 protected:
  BadTape() {
    tests::Random random(3);
    tests::write_tape(path_, tests::eventful_events(random, 3000));
    bytes_ = tests::read_bytes(path_);
  }

  void write(const std::string& bytes) { tests::write_bytes(path_, bytes); }
  // Every command that reads a tape.
  std::vector<std::vector<std::string>> commands(const std::string& path) const {
    return {{"heaptape", "info", path},
            {"heaptape", "verify", path},
            {"heaptape", "stats", path},
            {"heaptape", "dump", path},
            {"heaptape", "export", path, "--format", "folded"},
            {"heaptape", "recover", path, "-o", dir_.file("out")},
            {"heaptape", "replay", path, "-a", "noop", "-o", dir_.file("out")}};
  }
  void expect_all_refuse(const std::string& path, const std::string& part) {
    for (const auto& words : commands(path)) {
      SCOPED_TRACE(words[1]);
      expect_refusal(tests::run(words), part);
      EXPECT_FALSE(std::filesystem::exists(dir_.file("out")));
    }
  }
  // Runs all commands on the file as it is now, in this process: none may end it.
  void run_all() {
    std::ostringstream out;
    std::ostringstream err;
    cli::Console console(out, err);
    cli::run_info({path_}, console);
    cli::run_stats({.path = path_, .format = cli::Format::kJson}, console);
    cli::run_stats({.path = path_, .table = cli::StatsTable::kSites}, console);
    cli::run_export({.path = path_}, console);
    cli::run_dump({.path = path_, .format = schema::TextFormat::kNdjson}, console);
    cli::run_recover({.path = path_, .output = dir_.file("out")}, console);
    cli::ReplayCommandOptions options;
    options.tape_path = path_;
    options.specs = {"recorded", "model:runs"};
    cli::run_replay(options, console);
    verified_ = cli::run_verify(path_, console);
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("bad.tape");
  std::string bytes_;
  int verified_ = -1;
};

TEST_F(BadTape, MissingIsNamed) {
  expect_all_refuse(dir_.file("none.tape"), "none.tape': No such file");
}

TEST_F(BadTape, EmptyIsNamed) {
  write("");
  expect_all_refuse(path_, "bad.tape' is empty");
}

TEST_F(BadTape, OfAnotherKindIsNamed) {
  write("#!/bin/sh\necho this is no tape, but it is long enough for one\n");
  expect_all_refuse(path_, "bad.tape'");
}

TEST_F(BadTape, FolderIsNamed) {
  expect_all_refuse(dir_.path().string(), "is a directory: give a tape in it");
}

TEST_F(BadTape, OfANewerMajorVersionIsNamed) {
  std::string newer = bytes_;
  newer[8] = schema::kMajorVersion + 1;
  const uint32_t crc = schema::crc32_of({reinterpret_cast<const uint8_t*>(newer.data()), 12});
  std::memcpy(newer.data() + 12, &crc, sizeof crc);
  write(newer);
  expect_all_refuse(path_, "3.0");
}

TEST_F(BadTape, DamagedIsRefusedByCommandsThatNeedAllOfIt) {
  bytes_[bytes_.size() / 2] ^= 8;
  write(bytes_);
  for (const char* part : {"at byte", "heaptape recover"}) {
    expect_refusal(tests::run({"heaptape", "stats", path_}), part);
    expect_refusal(tests::run({"heaptape", "replay", path_, "-a", "noop"}), part);
  }
}

TEST_F(BadTape, IsNotPacked) {
  const std::vector<std::string> words{"heaptape", "pack", path_, "-o", dir_.file("packed")};
  write(bytes_.substr(0, bytes_.size() - 40));
  expect_refusal(tests::run(words), "was not finished: use `heaptape recover`");
  bytes_[bytes_.size() / 2] ^= 8;
  write(bytes_);
  expect_refusal(tests::run(words), "is damaged at byte");
  EXPECT_FALSE(std::filesystem::exists(words.back()));
}

TEST_F(BadTape, DamagedIsDumpedButForTheDamage) {
  bytes_[bytes_.size() / 2] ^= 8;
  write(bytes_);
  const auto outcome = tests::run({"heaptape", "dump", path_});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("is damaged at byte"), std::string::npos) << outcome.err;
}

TEST_F(BadTape, WithBytesBehindItsEndIsShownByInfoWhichSaysSo) {
  write(bytes_ + "more");
  const auto outcome = tests::run({"heaptape", "info", path_});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.out, "");
  EXPECT_NE(outcome.err.find("is damaged at byte"), std::string::npos) << outcome.err;
}

TEST_F(BadTape, CutShortIsReadAsFarAsItGoesWithANotice) {
  write(bytes_.substr(0, bytes_.size() - 40));
  const std::vector<std::vector<std::string>> commands = {
      {"info", path_}, {"dump", path_}, {"stats", path_}, {"replay", path_, "-a", "noop"}};
  for (auto words : commands) {
    words.insert(words.begin(), "heaptape");
    const auto outcome = tests::run(words);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out, "");
    EXPECT_NE(outcome.err.find("bad.tape' was not finished: it holds the first "),
              std::string::npos)
        << outcome.err;
  }
}

TEST_F(BadTape, DamagedMakesVerifyEndWithOne) {
  std::string damaged = bytes_;
  damaged[bytes_.size() / 2] ^= 8;
  for (const std::string& bytes : {damaged, bytes_.substr(0, bytes_.size() - 40)}) {
    write(bytes);
    const auto outcome = tests::run({"heaptape", "verify", path_});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.out.find("damage     at byte"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("NOT SOUND"), std::string::npos) << outcome.out;
  }
}

TEST_F(BadTape, FlippedAnywhereHarmsNoCommand) {
  const size_t step = bytes_.size() / 150;
  for (size_t at = 0; at < bytes_.size(); at += step) {
    SCOPED_TRACE("byte " + std::to_string(at));
    std::string flipped = bytes_;
    flipped[at] ^= static_cast<char>(1 << (at / step % 8));
    write(flipped);
    run_all();
    EXPECT_NE(verified_, 0);
  }
}

TEST_F(BadTape, CutAnywhereHarmsNoCommand) {
  for (size_t size = 0; size < bytes_.size(); size += bytes_.size() / 100) {
    SCOPED_TRACE("size " + std::to_string(size));
    write(bytes_.substr(0, size));
    run_all();
    EXPECT_NE(verified_, 0);
  }
}

TEST_F(BadTape, WithBytesInsertedAnywhereHarmsNoCommand) {
  for (size_t at = 0; at < bytes_.size(); at += bytes_.size() / 50) {
    SCOPED_TRACE("byte " + std::to_string(at));
    write(bytes_.substr(0, at) + "HTck" + bytes_.substr(at));
    run_all();
    EXPECT_NE(verified_, 0);
  }
}

}  // namespace
}  // namespace heaptape
