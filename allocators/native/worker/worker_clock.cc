#include "allocators/native/worker/worker_clock.h"

#include <elf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>

#include "allocators/native/worker/worker_traps.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
// The clocks when the recording begins, the same in every replay: the machine has been up for a
// while, and today is a day in 2026. An allocator may take 0 for "never".
constexpr uint64_t kUptimeNs = 100'000 * kSecondNs;
constexpr uint64_t kUnixNs = 1'770'000'000 * kSecondNs;
constexpr uint64_t kReadingNs = 25;  // the time that reading a clock takes

WorkerShared* shared = nullptr;
std::atomic<uint64_t> latest_ns{0};

// At the op under way, from the samples around it. No state: any thread may ask.
uint64_t time_of_op() {
  const uint32_t count = shared->clock_point_count;
  const auto op = static_cast<int64_t>(__atomic_load_n(&shared->current_op, __ATOMIC_RELAXED));
  const ClockPoint* points = shared->clock_points;
  uint32_t low = 0;  // the first point not before the op
  for (uint32_t high = count; low < high;) {
    const uint32_t middle = low + (high - low) / 2;
    if (points[middle].op < op) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == count) return count == 0 ? 0 : points[count - 1].time_ns;
  if (low == 0 || points[low].op == op) return points[low].time_ns;
  const ClockPoint& before = points[low - 1];
  const auto passed = static_cast<double>(points[low].time_ns - before.time_ns);
  const auto share =
      static_cast<double>(op - before.op) / static_cast<double>(points[low].op - before.op);
  return before.time_ns + static_cast<uint64_t>(passed * share);
}

bool is_wall_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
         clock == CLOCK_REALTIME_ALARM || clock == CLOCK_TAI;
}

bool is_uptime(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
         clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME || clock == CLOCK_BOOTTIME_ALARM;
}

}  // namespace

void start_clock(WorkerShared* worker, unsigned long* auxiliary) {
  shared = worker;
  if (shared->clock == Clock::kReal) return;
  for (; auxiliary[0] != AT_NULL; auxiliary += 2) {
    if (auxiliary[0] == AT_SYSINFO_EHDR) auxiliary[0] = AT_IGNORE;
  }
}

uint64_t tape_now_ns() {
  const uint64_t at_op = time_of_op();
  uint64_t before = latest_ns.load(std::memory_order_relaxed);
  uint64_t now;
  do {
    now = before + kReadingNs > at_op ? before + kReadingNs : at_op;
  } while (!latest_ns.compare_exchange_weak(before, now, std::memory_order_relaxed));
  return now;
}

uint64_t tape_time_ns() {
  const uint64_t at_op = time_of_op();
  const uint64_t before = latest_ns.load(std::memory_order_relaxed);
  return at_op > before ? at_op : before;
}

bool is_day(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) >= kUnixNs / kSecondNs / 2;
}

uint64_t tape_time_of(const timespec& time) {
  const uint64_t ns =
      static_cast<uint64_t>(time.tv_sec) * kSecondNs + static_cast<uint64_t>(time.tv_nsec);
  const uint64_t begin_ns = is_day(time) ? kUnixNs : kUptimeNs;
  return ns > begin_ns ? ns - begin_ns : 0;
}

void pass_tape_time(uint64_t ns) {
  tape_now_ns();
  latest_ns.fetch_add(ns, std::memory_order_relaxed);
}

long read_clock(clockid_t clock, timespec* now) {
  const bool is_wall = is_wall_clock(clock);
  if (shared->clock == Clock::kReal || (!is_wall && !is_uptime(clock))) {
    return unwatched_syscall(SYS_clock_gettime, clock, reinterpret_cast<long>(now));
  }
  const uint64_t ns = (is_wall ? kUnixNs : kUptimeNs) + tape_now_ns();
  now->tv_sec = static_cast<time_t>(ns / kSecondNs);
  now->tv_nsec = static_cast<long>(ns % kSecondNs);
  return 0;
}

uint64_t real_monotonic_ns() {
  timespec now = {};
  unwatched_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace heaptape::allocators

// Libraries find these instead of libc's.
#define HEAPTAPE_EXPORT __attribute__((visibility("default")))
extern "C" {

HEAPTAPE_EXPORT int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = heaptape::allocators::read_clock(clock, now);
  if (result == 0) return 0;
  errno = static_cast<int>(-result);
  return -1;
}

HEAPTAPE_EXPORT int gettimeofday(timeval* now, void*) noexcept {
  timespec time = {};
  heaptape::allocators::read_clock(CLOCK_REALTIME, &time);
  *now = {time.tv_sec, time.tv_nsec / 1000};
  return 0;
}

HEAPTAPE_EXPORT time_t time(time_t* now) noexcept {
  timespec time = {};
  heaptape::allocators::read_clock(CLOCK_REALTIME, &time);
  if (now != nullptr) *now = time.tv_sec;
  return time.tv_sec;
}

HEAPTAPE_EXPORT int timespec_get(timespec* now, int base) noexcept {
  if (base != TIME_UTC) return 0;
  return heaptape::allocators::read_clock(CLOCK_REALTIME, now) == 0 ? base : 0;
}

}  // extern "C"
