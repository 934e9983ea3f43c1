// What the kernel says of the owner of a lock, however the owner ends.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "recorder/interposer/claims.h"

namespace heaptape::recorder {
namespace {

class ClaimantTest : public testing::Test {
 protected:
  // In shared memory, and mapped as long as any thread of this program lives that may own one.
  static OwnerLock& new_lock() {
    static auto* locks = static_cast<OwnerLock*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    static int used = 0;
    return locks[used++];
  }
  static bool claim(OwnerLock& lock, Claimant::Thread thread = Claimant::Thread::kOwn) {
    return Claimant(thread).try_claim(lock);
  }
  // In a process of its own, which `body` need not end.
  static void in_child(const std::function<void()>& body) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      body();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
};

TEST_F(ClaimantTest, OwnsWhatItClaimed) {
  OwnerLock& lock = new_lock();
  std::thread([&lock] {
    EXPECT_EQ(owner_state(lock), OwnerState::kNone);
    EXPECT_TRUE(claim(lock));
    EXPECT_EQ(owner_state(lock), OwnerState::kLives);
    EXPECT_EQ(lock.word, static_cast<uint32_t>(gettid()));
  }).join();
}

TEST_F(ClaimantTest, DoesNotTakeWhatSomebodyOwnsOrLeftBehind) {
  OwnerLock& lock = new_lock();
  std::thread([&lock] {
    claim(lock);
    EXPECT_FALSE(claim(lock));
  }).join();
  EXPECT_FALSE(claim(lock));
}

TEST_F(ClaimantTest, IsKnownToBeDeadWhenItsThreadEnds) {
  OwnerLock& lock = new_lock();
  std::thread([&lock] { claim(lock); }).join();
  EXPECT_EQ(owner_state(lock), OwnerState::kDead);
}

TEST_F(ClaimantTest, IsKnownToBeDeadWhenItIsKilled) {
  OwnerLock& lock = new_lock();
  in_child([&lock] {
    claim(lock);
    raise(SIGKILL);
  });
  EXPECT_EQ(owner_state(lock), OwnerState::kDead);
}

TEST_F(ClaimantTest, IsKnownToBeDeadWhenItsProcessExecutesAnotherProgram) {
  OwnerLock& lock = new_lock();
  in_child([&lock] {
    claim(lock);
    execl("/bin/true", "true", nullptr);
  });
  EXPECT_EQ(owner_state(lock), OwnerState::kDead);
}

TEST_F(ClaimantTest, IsKnownToBeDeadInAnotherPidNamespace) {
  OwnerLock& lock = new_lock();
  in_child([&lock] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return;
    in_child([&lock] { claim(lock); });
  });
  if (owner_state(lock) == OwnerState::kNone) GTEST_SKIP() << "may make no pid namespace";
  EXPECT_EQ(owner_state(lock), OwnerState::kDead);
}

// By the system call, of which libc knows nothing: it registers no list for the child.
TEST_F(ClaimantTest, IsKnownToBeDeadWhenItWasForkedBehindLibcsBack) {
  OwnerLock& lock = new_lock();
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    claim(lock);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(owner_state(lock), OwnerState::kDead);
}

// As musl's threads: more of them, one after the other, than there are lists at one time.
TEST_F(ClaimantTest, IsKnownToBeDeadHoweverManyThreadsWithoutAListCameBefore) {
  OwnerLock& lock = new_lock();
  for (int thread = 0; thread < 5000; ++thread) {
    lock.word = 0;
    std::thread([&lock] {
      syscall(SYS_set_robust_list, nullptr, sizeof(robust_list_head));
      claim(lock);
    }).join();
    ASSERT_EQ(owner_state(lock), OwnerState::kDead) << thread;
  }
}

TEST_F(ClaimantTest, OwnsManyAtOnce) {
  OwnerLock& a = new_lock();
  OwnerLock& b = new_lock();
  OwnerLock& c = new_lock();
  std::thread([&] {
    const Claimant claimant(Claimant::Thread::kOwn);
    EXPECT_TRUE(claimant.try_claim(a) && claimant.try_claim(b) && claim(c));
  }).join();
  EXPECT_EQ(owner_state(a), OwnerState::kDead);
  EXPECT_EQ(owner_state(b), OwnerState::kDead);
  EXPECT_EQ(owner_state(c), OwnerState::kDead);
}

// Nobody can know when the thread that it borrows ends.
TEST_F(ClaimantTest, CountsAsLivingForEverWhenItBorrowsItsThread) {
  OwnerLock& lock = new_lock();
  std::thread([&lock] { EXPECT_TRUE(claim(lock, Claimant::Thread::kBorrowed)); }).join();
  EXPECT_EQ(lock.word, kUnwatchedOwner);
  EXPECT_EQ(owner_state(lock), OwnerState::kLives);
}

// The program's own robust mutexes are in the same list.
class ClaimantAmongMutexesTest : public ClaimantTest {
 protected:
  ClaimantAmongMutexesTest() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    for (pthread_mutex_t& mutex : mutexes_) pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  bool is_marked(int mutex) {
    const bool marked = pthread_mutex_trylock(&mutexes_[mutex]) == EOWNERDEAD;
    if (marked) pthread_mutex_consistent(&mutexes_[mutex]);
    pthread_mutex_unlock(&mutexes_[mutex]);
    return marked;
  }
  pthread_mutex_t mutexes_[3];
};

TEST_F(ClaimantAmongMutexesTest, LeavesThoseToLibcThatWereLockedBeforeAndAfter) {
  OwnerLock& lock = new_lock();
  std::thread([&] {
    pthread_mutex_lock(&mutexes_[0]);
    pthread_mutex_lock(&mutexes_[1]);
    claim(lock);
    pthread_mutex_lock(&mutexes_[2]);
    pthread_mutex_unlock(&mutexes_[1]);  // the neighbor in the list
  }).join();
  EXPECT_EQ(owner_state(lock), OwnerState::kDead);
  EXPECT_TRUE(is_marked(0));
  EXPECT_FALSE(is_marked(1));
  EXPECT_TRUE(is_marked(2));
}

// In a signal handler, say, that interrupts a lock of the program's.
TEST_F(ClaimantAmongMutexesTest, LeavesAMutexPendingThatIsBeingLocked) {
  OwnerLock& lock = new_lock();
  std::thread([&] {
    robust_list_head* list = nullptr;
    size_t bytes = 0;
    ASSERT_EQ(syscall(SYS_get_robust_list, 0, &list, &bytes), 0);
    auto* const mutex = reinterpret_cast<robust_list*>(&mutexes_[0].__data.__list.__next);
    list->list_op_pending = mutex;
    claim(lock);
    EXPECT_EQ(list->list_op_pending, mutex);
    list->list_op_pending = nullptr;
  }).join();
}

TEST_F(ClaimantAmongMutexesTest, StaysInTheListWhenAllOthersLeaveIt) {
  OwnerLock& lock = new_lock();
  std::thread([&] {
    pthread_mutex_lock(&mutexes_[0]);
    claim(lock);
    pthread_mutex_lock(&mutexes_[1]);
    pthread_mutex_unlock(&mutexes_[0]);
    pthread_mutex_unlock(&mutexes_[1]);
  }).join();
  EXPECT_EQ(owner_state(lock), OwnerState::kDead);
  EXPECT_FALSE(is_marked(0) || is_marked(1));
}

}  // namespace
}  // namespace heaptape::recorder
