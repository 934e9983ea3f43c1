#include "recorder/collector/library_facts.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

class LibraryFactsTest : public testing::Test {
 protected:
  static AllocatorFacts of_path(const std::string& path) {
    AllocatorFacts facts = {"", "", "", "glibc 2.36"};
    std::strncpy(facts.path, path.c_str(), sizeof facts.path - 1);
    return facts;
  }
  AllocatorFacts complete(const AllocatorFacts& said) {
    return facts_.complete(said, static_cast<uint32_t>(getpid()));
  }
  // Of this process.
  static std::string libc() {
    return std::filesystem::canonical("/lib64/ld-linux-x86-64.so.2").replace_filename("libc.so.6");
  }

  tests::TempDir dir_;
  LibraryFacts facts_;
};

TEST_F(LibraryFactsTest, KnowTheLibraryByItsFile) {
  const std::string copy = dir_.file("mine.so");
  std::filesystem::copy_file(libc(), copy);
  for (int i = 0; i < 2; ++i) {
    const AllocatorFacts facts = complete(of_path(copy));
    EXPECT_STREQ(facts.family, "glibc");
    EXPECT_NE(std::string(facts.version), "");
    EXPECT_STREQ(facts.libc, "glibc 2.36");
    EXPECT_EQ(facts.path, copy);
  }
}

TEST_F(LibraryFactsTest, KnowARelativePathFromTheDirectoryOfTheProcess) {
  const std::string copy = dir_.file("mine.so");
  std::filesystem::copy_file(libc(), copy);
  EXPECT_STREQ(complete(of_path(std::filesystem::relative(copy))).family, "glibc");
}

// As in a container whose library is a link to "/opt/...".
TEST_F(LibraryFactsTest, FollowLinksInTheRootOfTheProcess) {
  const std::string root = dir_.file("root");
  std::filesystem::create_directories(root + "/opt");
  std::filesystem::copy_file(libc(), root + "/opt/mine.so");
  std::filesystem::create_symlink("/opt/mine.so", root + "/linked.so");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_there = unshare(CLONE_NEWUSER) == 0 && chroot(root.c_str()) == 0;
    if (write(ends[1], is_there ? "y" : "n", 1) == 1) pause();
    _exit(0);
  }
  char is_there = 'n';
  ASSERT_EQ(read(ends[0], &is_there, 1), 1);
  const AllocatorFacts facts = facts_.complete(of_path("/linked.so"), static_cast<uint32_t>(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  if (is_there == 'n') GTEST_SKIP() << "there are no user namespaces here";
  EXPECT_STREQ(facts.family, "glibc");
}

TEST_F(LibraryFactsTest, AreEmptyForWhatIsNoFile) {
  const std::string fifo = dir_.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_STREQ(complete(of_path(fifo)).family, "");
  EXPECT_STREQ(complete(of_path("/dev/zero")).family, "");
}

TEST_F(LibraryFactsTest, KeepTheAnswerOfTheLibrary) {
  AllocatorFacts said = of_path(libc());
  std::strcpy(said.family, "mimalloc");
  EXPECT_STREQ(complete(said).family, "mimalloc");
  EXPECT_STREQ(complete(said).version, "");
}

TEST_F(LibraryFactsTest, LookAgainAtAFileThatWasReplaced) {
  const std::string file = dir_.file("mine.so");
  tests::write_bytes(file, "no library");
  EXPECT_STREQ(complete(of_path(file)).family, "");
  std::filesystem::remove(file);
  std::filesystem::copy_file(libc(), file);
  EXPECT_STREQ(complete(of_path(file)).family, "glibc");
}

TEST_F(LibraryFactsTest, AreEmptyForAMissingFile) {
  EXPECT_STREQ(complete(of_path("/none.so")).family, "");
  EXPECT_STREQ(complete(of_path("")).family, "");
  AllocatorFacts endless = {};
  std::memset(endless.path, 'a', sizeof endless.path);
  EXPECT_STREQ(complete(endless).family, "");
}

}  // namespace
}  // namespace heaptape::recorder
