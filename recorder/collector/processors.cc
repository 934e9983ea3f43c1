#include "recorder/collector/processors.h"

namespace heaptape::recorder {
namespace {

// A note counts for that long.
constexpr uint64_t kBusyNs = 50 * base::kMillisecondNs;
// Between two moves: a program with many threads is somewhere else each time.
constexpr uint64_t kChoiceEveryNs = 5 * base::kMillisecondNs;

}  // namespace

OtherProcessors::OtherProcessors() {
  CPU_ZERO(&allowed_);
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) == 0) {
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

void OtherProcessors::choose(uint64_t now_ns) {
  const std::scoped_lock lock(mutex_);
  if (now_ns < next_choice_ns_) return;
  cpu_set_t others = allowed_;
  for (size_t processor = 0; processor < noted_ns_.size(); ++processor) {
    const uint64_t noted_ns = noted_ns_[processor];
    if (noted_ns != 0 && now_ns < noted_ns + kBusyNs) CPU_CLR(processor, &others);
  }
  if (CPU_COUNT(&others) == 0) others = allowed_;
  if (CPU_EQUAL(&others, &chosen_)) return;
  next_choice_ns_ = now_ns + kChoiceEveryNs;
  move_to(others);
}

void OtherProcessors::end() {
  const std::scoped_lock lock(mutex_);
  next_choice_ns_ = UINT64_MAX;
  if (!CPU_EQUAL(&allowed_, &chosen_)) move_to(allowed_);
}

void OtherProcessors::move_to(const cpu_set_t& chosen) {
  chosen_ = chosen;
  for (const pthread_t thread : threads_) pthread_setaffinity_np(thread, sizeof chosen, &chosen);
}

}  // namespace heaptape::recorder
