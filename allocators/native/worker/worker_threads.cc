#include "allocators/native/worker/worker_threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "allocators/native/worker/worker_clock.h"
#include "allocators/native/worker/worker_traps.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr long kSliceNs = 1'000'000;  // of real time, between two checks of the tape's
constexpr int kMostSlices = 20;       // that a thread playing the tape waits for others
constexpr int kMostSleepers = 64;     // nobody waits for further ones

WorkerShared* shared = nullptr;
long driver = 0;
constinit thread_local bool is_player = false;
// When each sleeper wakes, in tape time; 0 = no sleeper here.
std::atomic<uint64_t> deadlines_ns[kMostSleepers];

void nap() {
  const timespec slice{0, kSliceNs};
  unwatched_syscall(SYS_nanosleep, reinterpret_cast<long>(&slice), 0);
}

uint64_t to_ns(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kSecondNs + static_cast<uint64_t>(time.tv_nsec);
}

// Occupies a place among the sleepers while it lives.
class Sleep {
 public:
  explicit Sleep(uint64_t deadline_ns) {
    for (auto& place : deadlines_ns) {
      uint64_t empty = 0;
      if (!place.compare_exchange_strong(empty, deadline_ns | 1)) continue;
      place_ = &place;
      __atomic_add_fetch(&shared->sleepers, 1, __ATOMIC_RELAXED);
      return;
    }
  }
  ~Sleep() {
    if (place_ == nullptr) return;
    __atomic_sub_fetch(&shared->sleepers, 1, __ATOMIC_RELAXED);
    place_->store(0);
  }
  Sleep(const Sleep&) = delete;
  Sleep& operator=(const Sleep&) = delete;

 private:
  std::atomic<uint64_t>* place_ = nullptr;
};

bool some_sleep_is_over(uint64_t now_ns) {
  for (const auto& place : deadlines_ns) {
    const uint64_t deadline = place.load(std::memory_order_relaxed);
    if (deadline != 0 && deadline <= now_ns) return true;
  }
  return false;
}

void sleep_for(uint64_t ns) {
  if (shared->clock == Clock::kReal) {
    const timespec time{static_cast<time_t>(ns / kSecondNs), static_cast<long>(ns % kSecondNs)};
    unwatched_syscall(SYS_nanosleep, reinterpret_cast<long>(&time), 0);
  } else if (plays_tape()) {
    pass_tape_time(ns);
    sched_yield();
  } else {
    const uint64_t deadline_ns = tape_time_ns() + ns;
    const Sleep sleep(deadline_ns);
    while (tape_time_ns() < deadline_ns) nap();
  }
}

// Until `time` on its own kind of clock: a day of this century, or an uptime.
int wait_until(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec& time) {
  if (shared->clock == Clock::kReal) {
    return pthread_cond_clockwait(condition, mutex, is_day(time) ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                                  &time);
  }
  const uint64_t deadline_ns = tape_time_of(time);
  const Sleep sleep(deadline_ns);
  for (int slices = 0;; ++slices) {
    const uint64_t now_ns = tape_time_ns();
    if (now_ns >= deadline_ns) return ETIMEDOUT;
    if (plays_tape() && slices == kMostSlices) pass_tape_time(deadline_ns - now_ns);
    const uint64_t slice_ns = real_monotonic_ns() + kSliceNs;
    const timespec slice{static_cast<time_t>(slice_ns / kSecondNs),
                         static_cast<long>(slice_ns % kSecondNs)};
    const int result = pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &slice);
    if (result != ETIMEDOUT) return result;
  }
}

// Like the system call, but never blocks SIGSYS, through which memory calls are seen, or the two
// signals that libc reserves.
long change_mask(int how, const sigset_t* set, sigset_t* old) {
  constexpr uint64_t kNeverBlocked = uint64_t{7} << (SIGSYS - 1);
  uint64_t mask = 0;
  if (set != nullptr) mask = *reinterpret_cast<const uint64_t*>(set);
  if (how != SIG_UNBLOCK) mask &= ~kNeverBlocked;
  return unwatched_syscall(SYS_rt_sigprocmask, how,
                           reinterpret_cast<long>(set != nullptr ? &mask : nullptr),
                           reinterpret_cast<long>(old), sizeof mask);
}

}  // namespace

void start_threads(WorkerShared* worker) {
  shared = worker;
  driver = unwatched_syscall(SYS_gettid, 0);
  play_tape();
}

bool is_driver() {
  return unwatched_syscall(SYS_gettid, 0) == driver;
}

bool plays_tape() {
  return is_player;
}

void play_tape() {
  is_player = true;
}

void let_sleepers_work() {
  if (__atomic_load_n(&shared->sleepers, __ATOMIC_RELAXED) == 0) return;
  const uint64_t now_ns = tape_now_ns();
  for (int slice = 0; slice < kMostSlices && some_sleep_is_over(now_ns); ++slice) nap();
}

}  // namespace heaptape::allocators

#define HEAPTAPE_EXPORT __attribute__((visibility("default")))
extern "C" {

HEAPTAPE_EXPORT int nanosleep(const timespec* time, timespec*) {
  heaptape::allocators::sleep_for(heaptape::allocators::to_ns(*time));
  return 0;
}

HEAPTAPE_EXPORT int usleep(useconds_t microseconds) {
  heaptape::allocators::sleep_for(uint64_t{microseconds} * 1000);
  return 0;
}

HEAPTAPE_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                           const timespec* time) {
  return heaptape::allocators::wait_until(condition, mutex, *time);
}

HEAPTAPE_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return static_cast<int>(-heaptape::allocators::change_mask(how, set, old));
}

HEAPTAPE_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  const long result = heaptape::allocators::change_mask(how, set, old);
  if (result == 0) return 0;
  errno = static_cast<int>(-result);
  return -1;
}

}  // extern "C"
