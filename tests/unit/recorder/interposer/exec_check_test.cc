// What becomes of a program that this process is about to execute, while it is being recorded.
#include "recorder/interposer/exec_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "recorder/ring/handshake.h"
#include "tests/support/elf_header.h"
#include "tests/support/live_session.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

class ExecCheckTest : public testing::Test {
 protected:
  ExecCheckTest() { tests::write_bytes(dir_.file(kPreloadName), ""); }
  enum class Searches : bool { kNo, kYes };  // as execvp() does

  Verdict judge(const char* path, Searches searches = Searches::kNo) {
    char* const environment[] = {preload_.data(), session_variable_.data(), nullptr};
    ExecRequest request{path, nullptr, environment};
    request.searches = searches == Searches::kYes;
    Verdict verdict;
    judge_exec(request, &verdict);
    return verdict;
  }
  Board& board() const { return session_.view().board(); }

  tests::TempDir dir_;

 private:
  std::string preload_ = "LD_PRELOAD=" + dir_.file(kPreloadName);
  std::string session_variable_ = std::string(kSessionVariable) + "=name:token";
  tests::LiveSession session_;
};

TEST_F(ExecCheckTest, FindsNothingAgainstAProgramInTheRecordersNetwork) {
  EXPECT_EQ(judge("/bin/true").reason, Unrecorded::kNone);
}

TEST_F(ExecCheckTest, NamesAnotherNetwork) {
  ++board().network;
  EXPECT_EQ(judge("/bin/true").reason, Unrecorded::kNetwork);
}

// The recorder has no /proc.
TEST_F(ExecCheckTest, LetsAProgramTryWhereTheRecordersNetworkIsNotKnown) {
  board().network = 0;
  EXPECT_EQ(judge("/bin/true").reason, Unrecorded::kNone);
}

TEST_F(ExecCheckTest, NamesWhatHoldsInEveryNetworkFirst) {
  ++board().network;
  const std::string program = dir_.file("program");
  const auto elf = tests::elf_header<Elf64_Ehdr>(ET_DYN, EM_AARCH64);
  tests::write_bytes(program, {reinterpret_cast<const char*>(&elf), sizeof elf});
  EXPECT_EQ(judge(program.c_str()).reason, Unrecorded::kOtherMachine);
}

TEST_F(ExecCheckTest, FindsAProgramInPathAndNoDirectory) {
  const std::string before = dir_.file("before");
  const std::string directory = dir_.file("bin");
  std::filesystem::create_directories(before + "/program");
  std::filesystem::create_directory(directory);
  const auto elf = tests::elf_header<Elf64_Ehdr>(ET_DYN, EM_AARCH64);
  tests::write_bytes(directory + "/program", {reinterpret_cast<const char*>(&elf), sizeof elf});
  std::filesystem::permissions(directory + "/program", std::filesystem::perms::all);
  const std::string path = getenv("PATH");
  setenv("PATH", (before + ":" + directory).c_str(), 1);
  const Verdict verdict = judge("program", Searches::kYes);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(verdict.reason, Unrecorded::kOtherMachine);
  EXPECT_EQ(std::string(verdict.path), directory + "/program");
}

// Ours in it do no harm, and a program with its own malloc needs them for its children.
TEST_F(ExecCheckTest, LeavesTheEnvironmentOfWhatItCallsOwnMallocOrEnvironment) {
  char preload[] = "LD_PRELOAD=a.so:libheaptape-interposer.so";
  char* const environment[] = {preload, nullptr};
  const ExecRequest request{"/bin/true", nullptr, environment};
  Verdict verdict;
  EXPECT_EQ(must_rewrite(request, verdict), Ours::kFirst);
  for (const auto reason : {Unrecorded::kOwnMalloc, Unrecorded::kEnvironment}) {
    verdict.reason = reason;
    EXPECT_EQ(must_rewrite(request, verdict), std::nullopt);
  }
}

}  // namespace
}  // namespace heaptape::recorder
