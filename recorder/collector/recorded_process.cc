#include "recorder/collector/recorded_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

// Samples come soon at first, then ever more rarely, and never take more than 2 % of our time.
constexpr uint64_t kFirstSampleNs = 2 * base::kMillisecondNs;
constexpr uint64_t kMaxSampleEveryNs = 100 * base::kMillisecondNs;
constexpr uint64_t kSampleCostFactor = 50;
// A chunk of few events costs some 300 bytes.
constexpr uint64_t kFlushEveryNs = 5000 * base::kMillisecondNs;

}  // namespace

RecordedProcess::RecordedProcess(std::unique_ptr<ProcessRecorder> recorder, Traits traits)
    : recorder_(std::move(recorder)),
      traits_(std::move(traits)),
      next_flush_ns_(base::monotonic_ns() + kFlushEveryNs),
      sample_every_ns_(kFirstSampleNs) {
  if (!traits_.pid_is_ours) return;
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, traits_.identity.pid, 0));
  was_gone_ = pidfd_ < 0 && errno == ESRCH;
}

RecordedProcess::~RecordedProcess() {
  if (pidfd_ >= 0) close(pidfd_);
}

bool RecordedProcess::is_gone() const {
  if (!traits_.pid_is_ours) return false;
  if (was_gone_) return true;
  if (pidfd_ < 0) return kill(static_cast<int>(traits_.identity.pid), 0) != 0 && errno == ESRCH;
  pollfd wait{pidfd_, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

void RecordedProcess::flush_if_due(uint64_t now_ns) {
  if (now_ns < next_flush_ns_) return;
  next_flush_ns_ = now_ns + kFlushEveryNs;
  const uint64_t events = recorder_->writer().events();
  if (events == flushed_events_) return;
  recorder_->writer().flush();
  flushed_events_ = events;
}

void RecordedProcess::sample_if_due(uint64_t now_ns) {
  if (!traits_.pid_is_ours) return;
  if (next_sample_ns_ == 0) next_sample_ns_ = now_ns + kFirstSampleNs;
  if (now_ns < next_sample_ns_) return;
  const uint64_t begin_ns = base::monotonic_ns();
  auto sample = sample_process(traits_.identity.pid, recorder_->live_set(), traits_.is_glibc);
  const uint64_t end_ns = base::monotonic_ns();
  if (sample) recorder_->add_sample(std::move(*sample), begin_ns);
  sample_every_ns_ = std::max(std::min(sample_every_ns_ * 3 / 2, kMaxSampleEveryNs),
                              (end_ns - begin_ns) * kSampleCostFactor);
  next_sample_ns_ = end_ns + sample_every_ns_;
}

std::vector<uint32_t> RecordedProcess::free_dead_rings() {
  if (!traits_.tids_are_ours) return {};
  const auto pid = static_cast<int>(traits_.identity.pid);
  return recorder_->free_dead_rings([pid](uint32_t tid) {
    return syscall(SYS_tgkill, pid, static_cast<int>(tid), 0) != 0 && errno == ESRCH;
  });
}

}  // namespace heaptape::recorder
