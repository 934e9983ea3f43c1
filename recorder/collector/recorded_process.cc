#include "recorder/collector/recorded_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/address/overlap.h"
#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "recorder/collector/tape_names.h"
#include "recorder/unwind/code_map.h"

namespace heaptape::recorder {
namespace {

constexpr rlim_t kDescriptorsForTape = 24;

// Leaves the parts of `ranges` that lie in `mapped`; both are ascending.
void keep_mapped(std::vector<base::AddressRange>& ranges,
                 const std::vector<base::AddressRange>& mapped) {
  if (ranges.empty()) return;
  std::vector<base::AddressRange> left;
  base::Overlap overlap(ranges);
  for (const base::AddressRange& range : mapped) {
    overlap.for_each(range, [&left](base::AddressRange part) { left.push_back(part); });
  }
  ranges = std::move(left);
}

// Valgrind 3.19 says on standard error that it knows no pidfd_open(2).
bool runs_in_valgrind() {
  const char* const preloaded = std::getenv("LD_PRELOAD");
  return preloaded != nullptr && std::strstr(preloaded, "/vgpreload_") != nullptr;
}

}  // namespace

void ProcessTotals::add(const ProcessTotals& other) {
  processes += other.processes;
  calls += other.calls;
  troubles.lost += other.troubles.lost;
  troubles.stalls += other.troubles.stalls;
  troubles.stall_ns += other.troubles.stall_ns;
}

RecordedProcess::RecordedProcess(std::unique_ptr<TapeStream> tape, std::unique_ptr<RingMerge> merge,
                                 ProcessSlot& slot, Traits traits, uint64_t begin_ns)
    : tape_(std::move(tape)),
      merge_(std::move(merge)),
      slot_(slot),
      traits_(std::move(traits)),
      begin_ns_(begin_ns),
      code_wanted_(traits_.identity.code.is_partial ? UINT32_MAX : 0),
      title_(schema::title_of(traits_.identity.command_line)) {
  if (!traits_.pid_is_ours || runs_in_valgrind()) return;
  pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, traits_.identity.pid, 0)));
  was_gone_ = !pidfd_ && errno == ESRCH;
  // Locks tell almost as much. The last descriptors are for tapes, and processes that join.
  if (pidfd_ && base::is_among_last(pidfd_.get(), kDescriptorsForTape)) pidfd_.reset();
}

RecordedProcess::RecordedProcess(RecordedProcess&& before, std::unique_ptr<TapeStream> tape,
                                 Traits traits, uint64_t cut)
    : tape_(std::move(tape)),
      merge_(std::make_unique<RingMerge>(std::move(*before.merge_), tape_->encoder(), cut)),
      slot_(before.slot_),
      traits_(std::move(traits)),
      begin_ns_(before.begin_ns_),
      pidfd_(std::move(before.pidfd_)),
      was_gone_(before.was_gone_),
      code_wanted_(UINT32_MAX),
      title_(std::move(before.title_)) {
  inherit(std::move(before.regions_));
}

ProcessTotals RecordedProcess::totals() const {
  if (!is_on_tape()) return {};
  return {1, tape_->encoder().events(), merge_->troubles()};
}

bool RecordedProcess::pid_is_gone() const {
  if (was_gone_ || !pidfd_) return was_gone_;
  pollfd wait{pidfd_.get(), POLLIN, 0};
  int ready;
  do {
    ready = poll(&wait, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

bool RecordedProcess::is_gone() const {
  if (was_gone_) return true;
  const uint32_t owner = slot_.lock.word.load(std::memory_order_acquire);
  const bool dead = (owner & FUTEX_OWNER_DIED) != 0;
  if (!dead && owner != kUnwatchedOwner) return false;  // by far the most frequent case
  return pidfd_ ? pid_is_gone() : dead && merge_->all_owners_dead();
}

void RecordedProcess::inherit(RecordedProcess& parent) {
  merge_->inherit(parent.merge_.get());
  inherit(parent.regions_);
}

void RecordedProcess::inherit(std::vector<base::AddressRange> regions) {
  if (regions_.empty()) regions_ = regions;
  inherited_regions_ = std::move(regions);
}

std::vector<uint32_t> RecordedProcess::free_rings() {
  return merge_->free_rings(pid_is_gone() ? RingMerge::Free::kAll : RingMerge::Free::kOfTheDead);
}

void RecordedProcess::begin_round(uint64_t cut, uint64_t now_ns) {
  const bool has_room = merge_->begin_round(cut, now_ns);
  const uint32_t behind = !has_room && tape_->is_behind() ? 1 : 0;
  if (behind != slot_.behind.load(std::memory_order_relaxed)) slot_.behind = behind;
}

bool RecordedProcess::work(uint64_t most) {
  is_held_up_ = tape_->is_behind();
  return !is_held_up_ && merge_->work(most);
}

std::optional<schema::Mark> RecordedProcess::add_mark(const std::string& name, uint64_t cut,
                                                      uint64_t now_ns) {
  if (is_held_up_ || !merge_->has_written_up_to(cut)) return std::nullopt;
  has_new_mark_ = true;
  return merge_->add_mark(name, now_ns);
}

void RecordedProcess::save_if_due(uint64_t now_ns) {
  const uint64_t written = merge_->written();
  if (written == saved_ && !has_new_mark_) return;
  if (next_save_ns_ == 0) next_save_ns_ = now_ns + traits_.save_after_ns;
  if (now_ns < next_save_ns_ || !tape_->save()) return;
  saved_ = written;
  has_new_mark_ = false;
  next_save_ns_ = 0;
}

RecordedProcess::Saved RecordedProcess::save_up_to(uint64_t cut, uint64_t number,
                                                   uint64_t start_ns) {
  if (saved_cut_ < cut) {
    if (is_held_up_ || !merge_->has_written_up_to(cut)) return Saved::kNotYet;
    if (tape_->keeps_last()) {
      schema::TapeSummary so_far = summary(start_ns);
      so_far.end_reason = schema::EndReason::kRecordingStopped;
      so_far.end_status = -1;
      tape_->write_copy(copy_path(traits_.tape_path, number), so_far);
    } else if (!tape_->save()) {
      return Saved::kNotYet;
    }
    saved_cut_ = cut;
    save_job_ = tape_->jobs();
  }
  if (tape_->jobs_done() < save_job_) return Saved::kNotYet;
  return tape_->has_failed() ? Saved::kFailed : Saved::kYes;
}

schema::TapeSummary RecordedProcess::summary(uint64_t start_ns) const {
  const uint64_t now_ns = base::monotonic_ns();
  schema::TapeSummary summary = merge_->collect_summary(now_ns);
  summary.inner_allocators = inner_->list();
  summary.late_ns = std::min(start_ns, now_ns) - std::min({start_ns, now_ns, begin_ns_});
  return summary;
}

void RecordedProcess::sample_if_due(uint64_t now_ns, size_t processes, ProcReader& reader) {
  if (!traits_.pid_is_ours) return;
  merge_->refresh_names(traits_.identity.pid, now_ns);
  if (reading_ != nullptr) {
    if (reading_ns_ == 0 && reading_->done.load(std::memory_order_acquire)) {
      reading_ns_ = base::monotonic_ns();
      reading_round_ = merge_->rounds_begun();
    }
    // It says how things stand after those calls.
    if (reading_ns_ != 0 && merge_->rounds_done() >= reading_round_) take_reading(processes);
    return;
  }
  is_sample_due_ = schedule_.is_due(now_ns, merge_->asked_bytes());
  const uint32_t wanted = slot_.code_wanted.load(std::memory_order_relaxed);
  const bool is_code_due = wanted != code_wanted_ && now_ns >= next_code_ns_;
  if (!is_sample_due_ && !is_code_due) return;
  reading_ns_ = 0;
  code_wanted_ = wanted;
  code_map_before_ = slot_.code_map.load(std::memory_order_acquire);
  if (traits_.code_names != nullptr) traits_.code_names->add(merge_->take_calls_of_no_file());
  reading_ = reader.ask({.pid = traits_.identity.pid,
                         .with_pages = is_sample_due_ ? WithPages::kYes : WithPages::kNo,
                         .names = traits_.code_names,
                         .inner = inner_});
}

void RecordedProcess::take_reading(size_t processes) {
  if (reading_->texts && !reading_->texts->has_session) {
    // An exec leaves dead locks, too; where they live, the pid means another process.
    const uint32_t owner = slot_.lock.word.load(std::memory_order_acquire);
    was_replaced_ = (owner & FUTEX_OWNER_DIED) != 0 && merge_->all_owners_dead();
    reading_.reset();
    return;
  }
  if (reading_->texts) {
    take_code(reading_->texts->code);
    if (!reading_->texts->title.empty()) title_ = reading_->texts->title;
  }
  take_names();
  next_code_ns_ = base::monotonic_ns() + reading_->took_ns * SampleSchedule::kCostFactor;
  if (is_sample_due_) take_sample(processes);
  reading_.reset();
}

void RecordedProcess::take_code(const ProcessCode& code) {
  merge_->note_code(code.mappings);
  // If the process has closed a library meanwhile, it wants another reading anyway.
  if (code.code_map != 0 && code.code_map != map_offset_of(code_map_before_)) {
    slot_.code_map.compare_exchange_strong(code_map_before_,
                                           with_map(code_map_before_, code.code_map));
  }
}

void RecordedProcess::take_names() {
  if (traits_.code_names == nullptr) return;
  for (schema::CodeMapping& name : traits_.code_names->take()) {
    tape_->encoder().add_mapping(std::move(name));
  }
}

void RecordedProcess::take_sample(size_t processes) {
  const uint64_t begin_ns = base::thread_cpu_ns();
  if (reading_->texts && !reading_->texts->has_ended) {
    merge_->owners().name_callers(reading_->texts->code_owners);
    // No block tells that a mapping is malloc's, as long as all blocks in it are from before.
    if (is_late_ && !resident_bytes_ && traits_.is_glibc) {
      inherited_regions_ = glibc_heaps(*reading_->texts);
    }
    schema::ProcessSample sample = make_sample(
        *reading_->texts, merge_->live_set(), traits_.is_glibc ? &merge_->own_mappings() : nullptr,
        merge_->thread_blocks(), merge_->owners(), inner_->raw_owner(), inherited_regions_);
    resident_bytes_ = sample.resident_bytes;
    regions_ = sample.regions;
    if (is_late_) inherited_regions_ = regions_;
    keep_mapped(inherited_regions_, regions_);
    merge_->add_sample(std::move(sample), reading_ns_);
  }
  const uint64_t cost_ns = reading_->took_ns + base::thread_cpu_ns() - begin_ns;
  schedule_.note(base::monotonic_ns(), cost_ns, processes, merge_->asked_bytes(),
                 resident_bytes_.value_or(0));
}

}  // namespace heaptape::recorder
