#include "recorder/collector/processors.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/output_file.h"

namespace heaptape::recorder {
namespace {

// A note counts for that long.
constexpr uint64_t kBusyNs = 50 * base::kMillisecondNs;

constexpr uint64_t kLongestStayNs = 60'000 * base::kMillisecondNs;

// The collector's, two that write tapes, and the one that watches rings.
constexpr uint64_t kOwnThreads = 4;

uint64_t online_processors() {
  return static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 0L));
}

}  // namespace

OtherProcessors::OtherProcessors() {
  threads_.reserve(kMostThreads);  // add() allocates nothing
  CPU_ZERO(&allowed_);
  const bool is_known = sched_getaffinity(0, sizeof allowed_, &allowed_) == 0;
  if (is_known && static_cast<uint64_t>(CPU_COUNT(&allowed_)) >= online_processors()) {
    for (size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &allowed_)) noted_ns_.resize(processor + 1);
    }
  }
  chosen_ = allowed_;
}

void OtherProcessors::add(pthread_t thread) {
  const std::scoped_lock lock(mutex_);
  threads_.push_back(thread);
}

void OtherProcessors::note(uint32_t processor, uint64_t now_ns) {
  const std::scoped_lock lock(mutex_);
  if (processor < noted_ns_.size()) noted_ns_[processor] = now_ns;
}

void OtherProcessors::stay(uint64_t now_ns) {
  const std::scoped_lock lock(mutex_);
  if (now_ns < stays_until_ns_ || CPU_EQUAL(&allowed_, &chosen_)) return;
  stays_until_ns_ = now_ns + stay_ns_;
  stay_ns_ = std::min(2 * stay_ns_, kLongestStayNs);
}

void OtherProcessors::choose(uint64_t now_ns, bool needed) {
  const std::scoped_lock lock(mutex_);
  if (is_over_) return;
  cpu_set_t others = allowed_;
  for (size_t processor = 0; processor < noted_ns_.size(); ++processor) {
    const uint64_t noted_ns = noted_ns_[processor];
    if (noted_ns != 0 && now_ns < noted_ns + kBusyNs) CPU_CLR(processor, &others);
  }
  const bool are_few = CPU_COUNT(&others) * 2 < CPU_COUNT(&allowed_);
  if (needed || is_crowded_ || now_ns < stays_until_ns_ || are_few) others = allowed_;
  if (CPU_EQUAL(&others, &chosen_)) return;
  move_to(others);
}

void OtherProcessors::end() {
  const std::scoped_lock lock(mutex_);
  is_over_ = true;
  if (!CPU_EQUAL(&allowed_, &chosen_)) move_to(allowed_);
}

void OtherProcessors::move_to(const cpu_set_t& chosen) {
  chosen_ = chosen;
  for (const pthread_t thread : threads_) pthread_setaffinity_np(thread, sizeof chosen, &chosen);
}

// "0.20 0.18 0.12 3/80 11206": the fourth has the threads that run or wait for a processor.
bool is_crowded(const std::string& loadavg, uint64_t processors) {
  double loads[3];
  unsigned long ready = 0;
  if (sscanf(loadavg.c_str(), "%lf %lf %lf %lu/", &loads[0], &loads[1], &loads[2], &ready) != 4) {
    return true;
  }
  return ready >= processors + kOwnThreads;
}

bool is_machine_crowded() {
  static const uint64_t processors = online_processors();
  const auto text = base::read_file("/proc/loadavg", 1024);
  return !text.ok() || is_crowded(*text, processors);
}

}  // namespace heaptape::recorder
