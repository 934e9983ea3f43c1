#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <barrier>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"

namespace heaptape::base {
namespace {

using tests::read_bytes;

class OutputFileTest : public testing::Test {
 protected:
  static std::span<const uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }
  OutputFile create(OutputFile::IfAbandoned if_abandoned = OutputFile::IfAbandoned::kRemove) {
    auto file = OutputFile::create(path_, if_abandoned);
    EXPECT_TRUE(file.ok()) << file.error().message;
    return std::move(*file);
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("out");
};

TEST_F(OutputFileTest, LeavesWhatWasThereUntilItIsWhole) {
  tests::write_bytes(path_, "old");
  OutputFile file = create();
  ASSERT_TRUE(file.append(bytes("new")).ok());
  EXPECT_EQ(read_bytes(path_), "old");
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(read_bytes(path_), "new");
}

TEST_F(OutputFileTest, LeavesNothingBehindWhenAbandoned) {
  {
    create().append(bytes("half")).ok();
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(OutputFileTest, KeepsAnAbandonedRecording) {
  {
    ASSERT_TRUE(create(OutputFile::IfAbandoned::kKeep).append(bytes("half")).ok());
  }
  EXPECT_EQ(read_bytes(path_ + ".partial"), "half");
}

uint64_t inode_of(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// At no moment is there none: a killed recorder leaves word of its recording.
TEST_F(OutputFileTest, TakesOverAnEmptyPartialFile) {
  const std::string partial = path_ + ".partial";
  create(OutputFile::IfAbandoned::kKeep);
  const uint64_t left = inode_of(partial);
  {
    OutputFile file = create(OutputFile::IfAbandoned::kKeep);
    EXPECT_EQ(inode_of(partial), left);
    ASSERT_TRUE(file.append(bytes("new")).ok());
    ASSERT_TRUE(file.commit().ok());
  }
  EXPECT_EQ(inode_of(path_), left);
  EXPECT_EQ(read_bytes(path_), "new");
}

// Somebody else might write to it.
TEST_F(OutputFileTest, ReplacesAnEmptyPartialFileThatIsNotItsOwn) {
  const std::string partial = path_ + ".partial";
  create(OutputFile::IfAbandoned::kKeep);
  const uint64_t left = inode_of(partial);
  std::filesystem::create_hard_link(partial, dir_.file("link"));
  create(OutputFile::IfAbandoned::kKeep);
  const uint64_t next = inode_of(partial);
  EXPECT_NE(next, left);
  ASSERT_EQ(chmod(partial.c_str(), 0622), 0);
  std::filesystem::create_hard_link(partial, dir_.file("link 2"));  // keeps its inode in use
  create(OutputFile::IfAbandoned::kKeep);
  EXPECT_NE(inode_of(partial), next);
}

TEST_F(OutputFileTest, MovesADeadWritersPartialFileAside) {
  tests::write_bytes(path_ + ".partial", "from a crash");
  ASSERT_TRUE(create().commit().ok());
  EXPECT_EQ(read_bytes(path_ + ".partial.old"), "from a crash");
}

TEST_F(OutputFileTest, GoesOnWhereItWasAfterARest) {
  OutputFile file = create(OutputFile::IfAbandoned::kKeep);
  ASSERT_TRUE(file.append(bytes("one ")).ok());
  file.rest();
  ASSERT_TRUE(file.write_after_end(8, bytes("behind")).ok());
  file.rest();
  ASSERT_TRUE(file.append(bytes("two")).ok());
  file.rest();
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(read_bytes(path_), "one two");
}

TEST_F(OutputFileTest, GoesOnBehindWhatIsWholeAfterAFullDisk) {
  OutputFile file = create();
  ASSERT_TRUE(file.append(bytes("whole ")).ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit little = {10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const bool has_room = file.append(bytes("finds little room")).ok();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(has_room);
  ASSERT_TRUE(file.append(bytes("again")).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(read_bytes(path_), "whole again");
}

TEST_F(OutputFileTest, HasNoDescriptorWhileItRests) {
  const int next = dup(0);
  close(next);
  OutputFile file = create(OutputFile::IfAbandoned::kKeep);
  file.rest();
  const int free_again = dup(0);
  close(free_again);
  EXPECT_EQ(free_again, next);
}

TEST_F(OutputFileTest, DoesNotWriteIntoTheFileOfWhoeverTookItOverWhileItRested) {
  OutputFile file = create(OutputFile::IfAbandoned::kKeep);
  file.rest();
  OutputFile other = create();
  EXPECT_FALSE(file.append(bytes("mine")).ok());
  ASSERT_TRUE(other.append(bytes("theirs")).ok() && other.commit().ok());
  EXPECT_EQ(read_bytes(path_), "theirs");
}

// An empty file is taken over with its inode.
TEST_F(OutputFileTest, NoticesThatAnEmptyFileWasWrittenToWhileItRested) {
  OutputFile file = create(OutputFile::IfAbandoned::kKeep);
  file.rest();
  OutputFile other = create();
  ASSERT_TRUE(other.append(bytes("theirs")).ok());
  other.rest();
  EXPECT_FALSE(file.append(bytes("mine")).ok());
  ASSERT_TRUE(other.commit().ok());
  EXPECT_EQ(read_bytes(path_), "theirs");
}

TEST_F(OutputFileTest, NeitherNamesNorRemovesTheFileOfAnother) {
  {
    OutputFile file = create();
    ASSERT_TRUE(file.append(bytes("mine")).ok());
    std::filesystem::remove(path_ + ".partial");
    tests::write_bytes(path_ + ".partial", "theirs");
    EXPECT_FALSE(file.commit().ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(read_bytes(path_ + ".partial"), "theirs");
}

TEST_F(OutputFileTest, OfSeveralWritersAtOnceIsThatOfOne) {
  constexpr int kWriters = 3;
  constexpr int kRounds = 1000;
  std::barrier together(kWriters + 1);
  std::vector<std::jthread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([this, i, &together] {
      const std::string content(static_cast<size_t>(1000 * (i + 1)), static_cast<char>('a' + i));
      for (int round = 0; round < kRounds; ++round) {
        together.arrive_and_wait();
        write_file(path_, content).ok();
        together.arrive_and_wait();
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    std::filesystem::remove(path_);
    together.arrive_and_wait();
    together.arrive_and_wait();
    const std::string content = read_bytes(path_);
    const std::string whole(content.empty() ? 0 : 1000 * size_t(content[0] - 'a' + 1),
                            content.empty() ? 'a' : content[0]);
    EXPECT_FALSE(content.empty()) << round;
    EXPECT_EQ(content, whole) << round;
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
}

TEST_F(OutputFileTest, WritesAWholeFileInPlaceOfAnother) {
  for (const char* text : {"first", "second"}) {  // the second finds the first there
    ASSERT_TRUE(write_file(path_, text).ok());
    EXPECT_EQ(read_bytes(path_), text);
    EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
  }
}

TEST_F(OutputFileTest, KeepsALinkWhenItWritesAWholeFile) {
  tests::write_bytes(dir_.file("file"), "old");
  std::filesystem::create_symlink(dir_.file("file"), path_);
  ASSERT_TRUE(write_file(path_, "new").ok());
  EXPECT_EQ(read_bytes(dir_.file("file")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

TEST_F(OutputFileTest, TakesAwayWhatWasWrittenBehindItsEnd) {
  OutputFile file = create();
  ASSERT_TRUE(file.append(bytes("whole")).ok());
  ASSERT_TRUE(file.write_after_end(1 << 20, bytes("scrap")).ok());
  EXPECT_EQ(std::filesystem::file_size(path_ + ".partial"), (1u << 20) + 5);
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(read_bytes(path_), "whole");
}

TEST_F(OutputFileTest, RefusesASecondWriterOfOneName) {
  OutputFile first = create();
  const auto second = OutputFile::create(path_, OutputFile::IfAbandoned::kRemove);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another heaptape"), std::string::npos);
}

TEST_F(OutputFileTest, WritesToADeviceWithoutReplacingIt) {
  auto file = OutputFile::create("/dev/null", OutputFile::IfAbandoned::kRemove);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->append(bytes("gone")).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, NamesTheFileItCannotCreate) {
  const auto file = OutputFile::create(dir_.file("no/such/dir"), OutputFile::IfAbandoned::kRemove);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
  EXPECT_NE(file.error().message.find("no/such/dir"), std::string::npos);
}

TEST_F(OutputFileTest, SaysThatAFullDiskIsFull) {
  auto file = OutputFile::create("/dev/full", OutputFile::IfAbandoned::kRemove);
  ASSERT_TRUE(file.ok());
  const auto status = file->append(bytes("x"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
}

TEST_F(OutputFileTest, IsNotWaitedForWhereAFifoIsToBeRead) {
  const std::string fifo = dir_.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const auto content = read_file(fifo, 100);
  ASSERT_FALSE(content.ok());
  EXPECT_NE(content.error().message.find("is a FIFO"), std::string::npos);
}

TEST_F(OutputFileTest, FollowsLinksOfItsUserToAFileThatIsNotThereYet) {
  std::filesystem::create_symlink("next", path_);
  std::filesystem::create_symlink(dir_.file("file"), dir_.file("next"));
  ASSERT_TRUE(write_file(path_, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(read_bytes(dir_.file("file")), "new");
}

TEST_F(OutputFileTest, RefusesLinksThatLeadNowhere) {
  std::filesystem::create_symlink(path_, path_);
  EXPECT_FALSE(write_file(path_, "new").ok());
}

TEST_F(OutputFileTest, DoesNotWaitForTheReaderOfAFifo) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const auto file = OutputFile::create(path_, OutputFile::IfAbandoned::kRemove);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message,
            "cannot create '" + path_ + "': nobody reads this FIFO or socket");
  EXPECT_EQ(file.error().code, ErrorCode::kUsage);
}

TEST_F(OutputFileTest, WritesToAFifoThatSomebodyReads) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const Descriptor reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(write_file(path_, "new").ok());
  char text[4] = {};
  EXPECT_EQ(read(reader.get(), text, sizeof text), 3);
  EXPECT_STREQ(text, "new");
}

// Not moved aside: it is no dead writer's.
TEST_F(OutputFileTest, RefusesWhatIsNoFileUnderTheNameOfThePartialOne) {
  const std::string partial = path_ + ".partial";
  const auto expect_refused = [&](const std::string& kind) {
    const auto file = OutputFile::create(path_, OutputFile::IfAbandoned::kKeep);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().message, "cannot create '" + path_ + "': '" + partial + "' is " + kind +
                                        "; remove it, or choose another name");
    std::filesystem::remove(partial);
  };
  ASSERT_EQ(mkfifo(partial.c_str(), 0600), 0);
  expect_refused("a FIFO");
  std::filesystem::create_directory(partial);
  expect_refused("a directory");
  std::filesystem::create_symlink("victim", partial);
  expect_refused("a link");
  EXPECT_FALSE(std::filesystem::exists(dir_.file("victim")));
}

TEST_F(OutputFileTest, TouchesNothingOfOthersWhereAllMayMakeFiles) {
  if (geteuid() != 0) GTEST_SKIP() << "needs files of another user";
  constexpr uid_t kOther = 65534;
  const std::string what = "cannot create '" + path_ + "': '";
  const std::string advice = "; remove it, or choose another name";
  const auto said = [this] { return write_file(path_, "new").error().message; };
  tests::write_bytes(dir_.file("victim"), "old");
  std::filesystem::create_symlink("victim", path_);
  ASSERT_EQ(lchown(path_.c_str(), kOther, kOther), 0);
  EXPECT_EQ(said(), what + path_ + "' is a link of another user" + advice);
  EXPECT_EQ(read_bytes(dir_.file("victim")), "old");
  std::filesystem::remove(path_);
  for (const std::string& name : {path_, path_ + ".partial"}) {
    tests::write_bytes(name, "theirs");
    ASSERT_EQ(chown(name.c_str(), kOther, kOther), 0);
    ASSERT_EQ(chmod(dir_.path().c_str(), 01777), 0);
    EXPECT_EQ(said(), what + name + "' belongs to another user" + advice);
    EXPECT_EQ(read_bytes(name), "theirs");
    ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
    EXPECT_TRUE(write_file(path_, "new").ok()) << "in a directory of the user's own";
    std::filesystem::remove(path_);
  }
}

TEST(SameFile, IsOneByAnyPathThoughItIsNotThere) {
  EXPECT_TRUE(same_file("not-there", "./not-there"));
  EXPECT_TRUE(same_file("not-there", std::filesystem::absolute("not-there")));
  EXPECT_FALSE(same_file("not-there", "not-here"));
}

}  // namespace
}  // namespace heaptape::base
