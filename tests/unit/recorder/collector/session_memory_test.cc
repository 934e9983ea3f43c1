#include "recorder/collector/session_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace heaptape::recorder {
namespace {

std::unique_ptr<SessionMemory> create(const SessionOptions& options = {}) {
  auto memory = SessionMemory::create(options);
  EXPECT_TRUE(memory.ok()) << memory.error().message;
  return std::move(*memory);
}

std::vector<int> all_of(const SessionFiles& files) {
  return {files.board, files.lobby, files.pools.common().descriptor()};
}

TEST(SessionMemory, SaysWhatItIsAndWhatWasAskedFor) {
  const auto memory = create({Follow::kFork, OnFull::kDrop});
  const Board& board = memory->view().board();
  EXPECT_EQ(board.magic, kSessionMagic);
  EXPECT_EQ(board.layout_version, kLayoutVersion);
  EXPECT_EQ(board.follow, Follow::kFork);
  EXPECT_EQ(board.on_full, OnFull::kDrop);
  EXPECT_EQ(board.clock, choose_clock());
  EXPECT_EQ(board.stopped, 0u);
  EXPECT_NE(memory->view().lobby().stamp_counter, 0u);
  EXPECT_TRUE(memory->view().is_whole());
}

TEST(SessionMemory, HasTheSizeOfTheLayout) {
  struct stat info{};
  const auto memory = create();
  ASSERT_EQ(fstat(memory->files().pools.common().descriptor(), &info), 0);
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), pool_bytes(kRings));
}

TEST(SessionMemory, CannotBeResizedByWhoeverHasIt) {
  const auto memory = create();
  for (const int file : all_of(memory->files())) {
    EXPECT_NE(ftruncate(file, 0), 0);
    EXPECT_EQ(errno, EPERM);
    EXPECT_NE(ftruncate(file, pool_bytes(kRings) * 2), 0);
    EXPECT_NE(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), 0);
  }
}

TEST(SessionMemory, IsNotHandedToProgramsThatAreExecuted) {
  const auto memory = create();
  for (const int file : all_of(memory->files())) {
    EXPECT_NE(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(SessionMemory, IsSharedWithWhoMapsItsFiles) {
  const auto memory = create();
  const SessionFiles files = memory->files();
  constexpr int kBoth = PROT_READ | PROT_WRITE;
  void* page = mmap(nullptr, kBoardBytes, PROT_READ, MAP_SHARED, files.board, 0);
  void* lobby = mmap(nullptr, kLobbyBytes, kBoth, MAP_SHARED, files.lobby, 0);
  void* pool = mmap(nullptr, kJoinBytes, kBoth, MAP_SHARED, files.pools.common().descriptor(), 0);
  ASSERT_NE(page, MAP_FAILED);
  ASSERT_NE(lobby, MAP_FAILED);
  ASSERT_NE(pool, MAP_FAILED);
  const SessionView theirs(*static_cast<Board*>(page), lobby, {static_cast<char*>(pool)});
  theirs.lobby().claims = 7;
  EXPECT_EQ(memory->view().lobby().claims, 7u);
  theirs.header().claims = 6;
  EXPECT_EQ(memory->view().header().claims, 6u);
  memory->view().board().progress = 8;
  EXPECT_EQ(theirs.board().progress, 8u);
  munmap(pool, kJoinBytes);
  munmap(lobby, kLobbyBytes);
  munmap(page, kBoardBytes);
}

TEST(SessionMemory, HasABoardToWhichNobodyElseCanWrite) {
  const auto memory = create();
  const int board = memory->files().board;
  EXPECT_EQ(mmap(nullptr, kBoardBytes, PROT_READ | PROT_WRITE, MAP_SHARED, board, 0), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(pwrite(board, "", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  void* page = mmap(nullptr, kBoardBytes, PROT_READ, MAP_SHARED, board, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_EQ(mprotect(page, kBoardBytes, PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(errno, EACCES);
  munmap(page, kBoardBytes);
}

TEST(SessionMemory, HoldsTheLockThatSaysThatTheCollectorLives) {
  const auto memory = create();
  const uint32_t word = memory->view().board().collector_lock_word;
  EXPECT_EQ(word & FUTEX_TID_MASK, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(word & FUTEX_OWNER_DIED, 0u);
}

// As when somebody kills `heaptape record`: nothing of ours runs then.
TEST(SessionMemory, IsMarkedWhenItsOwnerIsKilled) {
  void* shared =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  int ready[2];
  int die[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(die), 0);
  const int child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto memory = SessionMemory::create({});
    *static_cast<int*>(shared) = memory.ok() ? (*memory)->files().board : -1;
    close(ready[1]);
    close(die[1]);
    char byte;
    [[maybe_unused]] const ssize_t never = read(die[0], &byte, 1);
    _exit(0);
  }
  close(ready[1]);
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 0);
  const std::string path =
      "/proc/" + std::to_string(child) + "/fd/" + std::to_string(*static_cast<int*>(shared));
  const int fd = open(path.c_str(), O_RDWR);
  ASSERT_GE(fd, 0) << path;
  void* page = mmap(nullptr, kBoardBytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(page, MAP_FAILED);
  const auto& word = static_cast<Board*>(page)->collector_lock_word;
  EXPECT_EQ(word & FUTEX_OWNER_DIED, 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NE(word & FUTEX_OWNER_DIED, 0u);
  munmap(page, kBoardBytes);
  munmap(shared, sizeof(int));
  for (const int open_fd : {fd, ready[0], die[0], die[1]}) close(open_fd);
}

TEST(SessionMemory, EndsWhateverRecordedProcessesWroteIntoItsLock) {
  auto memory = create();
  auto* const nowhere = reinterpret_cast<__pthread_internal_list*>(uint64_t{0x4141414141414141});
  void* const lock = &memory->view().board().collector_lock_word;
  static_cast<pthread_mutex_t*>(lock)->__data.__list = {nowhere, nowhere};
  memory.reset();
  EXPECT_NE(create()->view().board().collector_lock_word, 0u);
}

TEST(SessionMemory, TellsProducersWhenItEnds) {
  auto memory = create();
  void* page = mmap(nullptr, kBoardBytes, PROT_READ, MAP_SHARED, memory->files().board, 0);
  ASSERT_NE(page, MAP_FAILED);
  memory.reset();
  EXPECT_EQ(static_cast<Board*>(page)->stopped, 1u);
  munmap(page, kBoardBytes);
}

}  // namespace
}  // namespace heaptape::recorder
