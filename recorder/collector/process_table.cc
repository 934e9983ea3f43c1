#include "recorder/collector/process_table.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/version.h"
#include "recorder/collector/fair_share.h"
#include "recorder/ring/stamp.h"

namespace heaptape::recorder {
namespace {

// Text that a process wrote, and may go on writing.
template <size_t kBytes>
std::string read_text(const char (&shared)[kBytes]) {
  char text[kBytes];
  std::copy_n(shared, kBytes, text);
  text[kBytes - 1] = 0;
  return text;
}

// Reads each field once: the process can write there at any time.
Claim read_claim(const ProcessSlot& slot, SlotId id) {
  return {id,
          slot.flags,
          slot.pid,
          slot.serial,
          slot.parent_serial,
          slot.fork,
          slot.initial_break,
          read_text(slot.program),
          read_text(slot.allocator.path),
          {read_text(slot.allocator.family), read_text(slot.allocator.version),
           read_text(slot.allocator.libc)}};
}

std::vector<schema::SizeRange> stack_sizes(const Board& board) {
  const auto* const end = std::ranges::find(board.stack_sizes, 0u, &schema::SizeRange::most);
  return {board.stack_sizes, end};
}

schema::StackRecording stack_recording(const Board& board) {
  if (board.stack_frames == 0) return {};
  return {board.unwinding == Unwinding::kTables ? schema::StackMode::kUnwindTables
                                                : schema::StackMode::kFramePointers,
          board.stack_frames, board.stack_bytes, stack_sizes(board)};
}

// Also a slow program starts this many chunks in the time that is kept, so that at most one too
// many is kept.
constexpr uint64_t kChunksPerTime = 8;
// One part in this many of the bytes is left for headers, summaries and indices.
constexpr uint64_t kFooterShare = 32;

// How many ended processes are remembered for children that have not joined yet.
constexpr size_t kMostEstates = 256;

// `fork`: null if it is not known.
schema::Inheritance inheritance(const std::string& parents_tape, uint64_t start_unix_ns,
                                const RingMerge::Fork* fork) {
  if (fork == nullptr) return {};
  return {.tape = std::filesystem::path(parents_tape).filename(),
          .start_unix_ns = start_unix_ns,
          .events = fork->calls_before,
          .thread = fork->thread};
}

// How many slots or rings were ever taken.
uint32_t used(const Occupancy& taken, uint32_t count) {
  return std::min(taken.high_water.load(std::memory_order_acquire), count);
}

bool is_known_to_live(const OwnerLock& lock) {
  return owner_state(lock) == OwnerState::kLives &&
         lock.word.load(std::memory_order_relaxed) != kUnwatchedOwner;
}

// A ring whose owner died before it was ready, or whose process no longer has its slot. One of a
// process that was not adopted yet is still its own.
bool is_nobodys(const SessionView& view, const RingHeader& ring) {
  if (owner_state(ring.lock) != OwnerState::kDead) return false;
  if (ring.state.load() == RingState::kFree) return true;
  const uint32_t slot = ring.process_slot;
  if (slot >= view.rings()) return true;
  const ProcessSlot& process = view.process(slot);
  return process.state.load() == SlotState::kFree || process.serial != ring.process_serial;
}

}  // namespace

void ProcessTable::adopt_claims() {
  if (!heirs_.empty()) settle_heirs();
  const std::vector<Pool*> pools = pools_.take_claimed();
  std::vector<Claim> found;
  for (const Pool* const pool : pools) find_claims(*pool, found);
  // In the order in which they came, which is not that of slots: a parent before its child, and if
  // a pid came twice, by exec, the later process replaces the earlier one.
  std::ranges::sort(found, {}, &Claim::serial);
  for (const Claim& claim : found) adopt_process(claim);
  for (const Pool* const pool : pools) adopt_rings(*pool);
  if (!pools.empty() || has_ended_) leave_empty_pools();
}

// What the parent did before the fork is read by its first round after the child was found.
void ProcessTable::settle_heirs(uint64_t ending_parent) {
  std::erase_if(heirs_, [&](const Heir& heir) {
    const auto child = processes_.find(heir.slot);
    if (child == processes_.end()) return true;
    RecordedProcess* const parent = find_serial(heir.parent_serial);
    if (parent == nullptr) {
      child->second->merge().inherit(nullptr);
      child->second->tape().add_inheritance({});
      return true;
    }
    const bool is_due = heir.parent_serial == ending_parent ||
                        (parent->merge().rounds_done() >= heir.parent_round &&
                         !parent->merge().awaits_inheritance());
    if (is_due) bequeath(*parent, *child->second, heir.fork);
    return is_due;
  });
}

void ProcessTable::bequeath(RecordedProcess& parent, RecordedProcess& child, uint32_t fork) {
  child.inherit(parent);
  const RecordedProcess::Traits& traits = parent.traits();
  child.tape().add_inheritance(
      inheritance(traits.tape_path, traits.header.start_unix_ns, parent.merge().find_fork(fork)));
}

void ProcessTable::leave_estate(const RecordedProcess& process) {
  if (process.merge().forks().empty() || !process.is_on_tape()) return;
  if (estates_.size() == kMostEstates) estates_.pop_front();
  const RecordedProcess::Traits& traits = process.traits();
  estates_.push_back({traits.serial, traits.tape_path, traits.header.start_unix_ns,
                      process.merge().forks(), process.regions()});
}

void ProcessTable::inherit_estate(RecordedProcess& child, uint64_t parent_serial,
                                  uint32_t fork) const {
  // A parent leaves one for each interval of the recording.
  const auto is_its = [&](const Estate& estate) {
    return estate.serial == parent_serial && RingMerge::find(estate.forks, fork) != nullptr;
  };
  const auto estate = std::ranges::find_if(estates_, is_its);
  if (estate == estates_.end()) {
    child.tape().add_inheritance({});
    return;
  }
  child.inherit(estate->regions);
  child.tape().add_inheritance(
      inheritance(estate->tape, estate->start_unix_ns, RingMerge::find(estate->forks, fork)));
}

// What it did before now: a child may have ended before the round that reads of its fork.
void ProcessTable::read_rest_of(RecordedProcess& process) {
  const SlotId slot = slot_of_serial_.at(process.traits().serial);
  const uint64_t cut = stamp_now(pools_.session());
  adopt_rings(pool_of(slot));
  process.merge().drain(cut, base::monotonic_ns());
}

void ProcessTable::settle_last_moment(SlotId slot) {
  const auto heir = std::ranges::find(heirs_, slot, &Heir::slot);
  if (heir == heirs_.end()) return;
  if (RecordedProcess* const parent = find_serial(heir->parent_serial)) {
    parent->merge().finish_rounds();
    if (parent->merge().find_fork(heir->fork) == nullptr) read_rest_of(*parent);
    bequeath(*parent, *processes_.at(slot), heir->fork);
  } else {
    processes_.at(slot)->tape().add_inheritance({});
  }
  heirs_.erase(heir);
}

void ProcessTable::note_start(uint64_t now_ns) {
  start_ns_ = now_ns;
  for (const auto& [slot, process] : processes_) process->note_late_start(now_ns);
}

uint64_t ProcessTable::unseen_calls() const {
  uint64_t batches = 0;
  for (const auto& [slot, process] : processes_) {
    batches += shared(slot).unseen.load(std::memory_order_relaxed);
  }
  return batches * kUnseenCalls;
}

void ProcessTable::find_claims(const Pool& pool, std::vector<Claim>& found) const {
  const SessionView& view = pool.view();
  for (uint32_t i = 0; i < used(view.header().slots_taken, view.rings()); ++i) {
    const SlotId id = SlotId{pool.number()} << 32 | i;
    const ProcessSlot& slot = view.process(i);
    if (slot.state.load(std::memory_order_acquire) != SlotState::kRunning) continue;
    if (processes_.contains(id)) continue;
    Claim claim = read_claim(slot, id);
    if (claim.serial >> 32 != pool.number()) continue;
    // The recorder knows these better.
    if (pool.is_spare()) claim.flags |= kSlotForked;
    if (pool.pid() != 0 && (claim.flags & kSlotForked) == 0) claim.pid = pool.pid();
    found.push_back(std::move(claim));
  }
}

void ProcessTable::adopt_rings(const Pool& pool) {
  const SessionView& view = pool.view();
  const uint32_t rings = used(view.header().rings_taken, view.rings());
  std::vector<uint32_t>& owners = owners_in(pool, rings);
  for (uint32_t index = 0; index < rings; ++index) {
    if (owners[index] != kNobody) continue;
    const RingHeader& ring = view.ring(index);
    if (ring.state.load() != RingState::kOwned) continue;
    const uint32_t slot = ring.process_slot;
    const auto owner = processes_.find(SlotId{pool.number()} << 32 | slot);
    if (owner == processes_.end() || owner->second->traits().serial != ring.process_serial) {
      continue;
    }
    owner->second->merge().add_ring(index);
    owners[index] = slot;
  }
}

std::vector<uint32_t>& ProcessTable::owners_in(const Pool& pool, uint32_t rings) {
  std::vector<uint32_t>& owners = ring_owners_[pool.number()];
  if (owners.size() < rings) owners.resize(rings, kNobody);
  return owners;
}

RecordedProcess* ProcessTable::find_serial(uint64_t serial) {
  const auto found = slot_of_serial_.find(serial);
  return found == slot_of_serial_.end() ? nullptr : processes_.at(found->second).get();
}

RecordedProcess* ProcessTable::find_pid(uint32_t pid) {
  const auto found = slot_of_pid_.find(pid);
  return found == slot_of_pid_.end() ? nullptr : processes_.at(found->second).get();
}

// A forked process is what its parent was. /proc may already show what it has executed since.
ProcessIdentity ProcessTable::identify(const Claim& claim) {
  ProcessIdentity identity;
  if (const RecordedProcess* parent = find_serial(claim.parent_serial)) {
    identity = parent->traits().identity;
    identity.parent_pid = identity.pid;
    identity.perf_maps = perf_maps_of_child(identity.perf_maps, claim.pid);
  } else {
    const bool forked = (claim.flags & kSlotForked) != 0;
    auto seen =
        forked ? std::nullopt : handshakes_.take_identity(pool_of(claim.slot).number(), claim.pid);
    identity = seen ? std::move(*seen) : identify_process(claim.pid, handshakes_.code());
  }
  identity.pid = claim.pid;
  if (identity.executable.empty()) identity.executable = claim.program;
  return identity;
}

void ProcessTable::adopt_process(const Claim& claim) {
  const bool forked = (claim.flags & kSlotForked) != 0;
  const bool foreign = (claim.flags & kSlotForeignPids) != 0;
  const bool has_pid = (!foreign || !forked) && may_have_pid(claim);
  if (!forked && has_pid) end_replaced(claim.pid);
  RecordedProcess::Traits traits;
  traits.identity = identify(claim);
  traits.header = make_header(claim, traits.identity);
  traits.serial = claim.serial;
  traits.pid_is_ours = has_pid;
  traits.is_glibc = claim.recorded_allocator.family == "glibc";
  if (const auto& keep = writers_.kept()) traits.save_after_ns = keep->time_ns / kChunksPerTime;
  auto tape = create_tape(traits);
  const auto with_stacks =
      handshakes_.code() != nullptr ? RingMerge::WithStacks::kYes : RingMerge::WithStacks::kNo;
  const SessionView& view = pool_of(claim.slot).view();
  const uint64_t begin_ns = base::monotonic_ns();
  auto merge = std::make_unique<RingMerge>(backlog_, view, static_cast<uint32_t>(claim.slot),
                                           tape->encoder(), begin_ns, with_stacks);
  if (counts_sizes_) merge->count_sizes();
  if (RecordedProcess* const parent = find_serial(claim.parent_serial)) {
    merge->await_inheritance();
    heirs_.push_back(
        {claim.slot, claim.fork, parent->traits().serial, parent->merge().rounds_begun() + 1});
  }
  merge->note_code(traits.identity.code.mappings);
  slot_of_serial_.emplace(traits.serial, claim.slot);
  if (traits.pid_is_ours) slot_of_pid_.insert_or_assign(claim.pid, claim.slot);
  auto process = std::make_unique<RecordedProcess>(std::move(tape), std::move(merge),
                                                   shared(claim.slot), std::move(traits), begin_ns);
  const bool waits = process->merge().awaits_inheritance();
  if (forked && !waits) inherit_estate(*process, claim.parent_serial, claim.fork);
  processes_.emplace(claim.slot, std::move(process));
}

std::vector<uint32_t> ProcessTable::pids() const {
  std::vector<uint32_t> pids;
  for (const auto& [pid, slot] : slot_of_pid_) pids.push_back(pid);
  return pids;
}

void ProcessTable::share_window() {
  const auto& keep = writers_.kept();
  if (!keep || keep->bytes == UINT64_MAX) return;
  std::vector<uint64_t> kept;
  for (const auto& [slot, process] : processes_) kept.push_back(process->tape().kept_bytes());
  const uint64_t share = fair_share(std::move(kept), keep->bytes - keep->bytes / kFooterShare);
  writers_.set_window_bytes(share);
  for (const auto& [slot, process] : processes_) {
    if (process->tape().kept_bytes() > share) process->tape().trim();
  }
}

RecordedProcess::Saved ProcessTable::save_up_to(uint64_t cut, uint64_t number) {
  using Saved = RecordedProcess::Saved;
  bool is_done = writers_.all_finished_are_written();
  bool has_failed = false;
  for (const auto& [slot, process] : processes_) {
    const Saved saved = process->save_up_to(cut, number, start_ns_);
    is_done &= saved != Saved::kNotYet;
    has_failed |= saved == Saved::kFailed;
  }
  return !is_done ? Saved::kNotYet : has_failed ? Saved::kFailed : Saved::kYes;
}

// Two processes that say they have one pid did not have it at the same time: the owner of an
// earlier one's slot is dead, by its end or an exec, and so is that of the one that is found late.
// But where the kernel said the pid of one that lives, it counts more than what others say.
bool ProcessTable::may_have_pid(const Claim& claim) {
  const auto found = slot_of_pid_.find(claim.pid);
  if (found == slot_of_pid_.end()) return true;
  const Pool& pool = pool_of(claim.slot);
  const Pool& others = pool_of(found->second);
  const bool is_sure = pool.pid() == claim.pid && (claim.flags & kSlotForked) == 0 &&
                       owner_state(shared(claim.slot).lock) != OwnerState::kDead;
  if (is_sure && (others.pid() != claim.pid || others.number() <= pool.number())) return true;
  return !is_known_to_live(shared(found->second).lock);
}

// By exec: another program joins under the pid.
void ProcessTable::end_replaced(uint32_t pid) {
  const auto found = slot_of_pid_.find(pid);
  if (found != slot_of_pid_.end()) end(found->second, schema::EndReason::kReplaced, 0);
}

schema::TapeHeader ProcessTable::make_header(const Claim& claim,
                                             const ProcessIdentity& identity) const {
  schema::TapeHeader header;
  header.writer = std::string("heaptape ") + base::kVersion;
  header.command_line = identity.command_line;
  header.executable = identity.executable;
  header.allocator = claim.allocator;
  header.recorded_allocator = claim.recorded_allocator;
  header.settings = identity.settings;
  header.pid = identity.pid;
  header.parent_pid = identity.parent_pid;
  header.page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  header.start_unix_ns = base::clock_ns(CLOCK_REALTIME);
  header.initial_break = claim.initial_break;
  header.clock = pools_.session().board().clock == Clock::kTsc ? schema::StampClock::kTsc
                                                               : schema::StampClock::kCounter;
  header.stacks = stack_recording(pools_.session().board());
  return header;
}

// Where the recording pauses, one that drops all.
std::unique_ptr<TapeStream> ProcessTable::create_tape(RecordedProcess::Traits& traits) {
  traits.tape_path = pauses_ ? "" : names_.next(traits.identity);
  traits.manifest_index = manifest_.size();
  traits.code_names.reset();
  if (pauses_) return std::make_unique<TapeStream>(writers_);
  if (!traits.identity.perf_maps.empty()) {
    traits.code_names = std::make_shared<CodeNames>(traits.identity.perf_maps);
  }
  auto tape = std::make_unique<TapeStream>(writers_, traits.tape_path, traits.header);
  // The file keeps another recording off the name of the whole one.
  if (manifest_.empty() || first_file_ != nullptr) tape->open(std::move(first_file_));
  manifest_.emplace_back();
  return tape;
}

void ProcessTable::end(SlotId slot, schema::EndReason reason, int32_t status) {
  const Pool& pool = pool_of(slot);
  shared(slot).state.store(SlotState::kEnding);
  adopt_rings(pool);  // that it claimed in its last moments
  RecordedProcess& process = *processes_.at(slot);
  process.merge().drain(RingMerge::kEverything, base::monotonic_ns());
  settle_last_moment(slot);
  if (!heirs_.empty()) settle_heirs(process.traits().serial);
  leave_estate(process);
  finish(process, reason, status);
  std::vector<uint32_t>& owners = owners_in(pool, 0);
  for (const uint32_t index : process.free_rings()) owners[index] = kNobody;
  forget(slot);
  free_slot(pool, static_cast<uint32_t>(slot));
  has_ended_ = true;
}

void ProcessTable::leave(SlotId slot, uint64_t cut, schema::EndReason reason) {
  finish_tape(slot, cut, reason);
  forget(slot);
}

void ProcessTable::leave_tape(SlotId slot, uint64_t cut) {
  finish_tape(slot, cut, schema::EndReason::kRecordingStopped);
  change_tape(slot, cut);
}

void ProcessTable::resume(const std::string& tape_path, uint32_t first_pid, uint64_t cut) {
  std::vector<SlotId> slots;
  for (const auto& [slot, process] : processes_) slots.push_back(slot);
  std::ranges::stable_sort(slots, {}, [&](SlotId slot) {
    const RecordedProcess& process = *processes_.at(slot);
    return std::pair(!process.is(first_pid), process.traits().serial);
  });
  for (const SlotId slot : slots) {
    finish_tape(slot, cut,
                schema::EndReason::kRecordingStopped);  // that of the pause, which drops all
  }
  pauses_ = false;
  ++interval_;
  names_ = TapeNames(tape_path);
  ended_ = {};
  stack_counts_ = {};
  written_before_ = writers_.written();
  for (const SlotId slot : slots) {
    change_tape(slot, cut);
    processes_.at(slot)->note_late_start(start_ns_);
  }
}

void ProcessTable::change_tape(SlotId slot, uint64_t cut) {
  std::unique_ptr<RecordedProcess>& process = processes_.at(slot);
  std::vector<uint32_t>& owners = owners_in(pool_of(slot), 0);
  for (const uint32_t ring : process->merge().free_dead_rings()) owners[ring] = kNobody;
  RecordedProcess::Traits traits = process->traits();
  auto tape = create_tape(traits);
  process = std::make_unique<RecordedProcess>(std::move(*process), std::move(tape),
                                              std::move(traits), cut);
}

WrittenSoFar ProcessTable::written() const {
  const WrittenSoFar all = writers_.written();
  return {all.bytes - written_before_.bytes, all.calls - written_before_.calls};
}

void ProcessTable::finish_tape(SlotId slot, uint64_t cut, schema::EndReason reason) {
  RecordedProcess& process = *processes_.at(slot);
  if (cut != kNothingMore) {
    // Once only: a call of the last moment may wait for another that nobody has logged yet.
    if (!process.merge().has_begun(cut)) process.merge().drain(cut, base::monotonic_ns());
    process.merge().finish_rounds();
  }
  settle_last_moment(slot);
  if (!heirs_.empty()) settle_heirs(process.traits().serial);
  leave_estate(process);
  finish(process, reason, -1);
}

void ProcessTable::forget(SlotId slot) {
  const RecordedProcess::Traits& traits = processes_.at(slot)->traits();
  slot_of_serial_.erase(traits.serial);
  const auto pid = slot_of_pid_.find(traits.identity.pid);
  if (pid != slot_of_pid_.end() && pid->second == slot) slot_of_pid_.erase(pid);
  processes_.erase(slot);
}

void ProcessTable::free_slot(const Pool& pool, uint32_t index) {
  ProcessSlot& freed = pool.view().process(index);
  freed.state.store(SlotState::kFree);
  freed.lock.word.store(0, std::memory_order_release);
  lower(pool.view().header().slots_taken, index);
}

void ProcessTable::leave_empty_pools() {
  has_ended_ = false;
  std::vector<uint32_t> empty;
  auto process = processes_.begin();
  for (const auto& [number, pool] : pools_.mapped()) {
    while (process != processes_.end() && process->first >> 32 < number) ++process;
    if (process == processes_.end() || process->first >> 32 != number) empty.push_back(number);
  }
  for (const uint32_t number : empty) {
    ring_owners_.erase(number);
    pools_.leave(number);
  }
}

void ProcessTable::finish(RecordedProcess& process, schema::EndReason reason, int32_t status) {
  if (!process.is_on_tape()) return;
  process.merge().finish_times();
  schema::TapeSummary summary = process.summary(start_ns_);
  summary.end_reason = reason;
  summary.end_status = status;
  const RecordedProcess::Traits& traits = process.traits();
  if (traits.code_names != nullptr) {
    traits.code_names->add(process.merge().take_calls_of_no_file());
  }
  const RingMerge::StackCounts& counts = process.merge().stack_counts();
  ended_.add(process.totals());
  stack_counts_.stacks += counts.stacks;
  stack_counts_.that_end_at_once += counts.that_end_at_once;
  process.tape().finish(traits.manifest_index, summary, traits.code_names);
  schema::ManifestProcess& entry = manifest_[traits.manifest_index];
  entry.tape = std::filesystem::path(traits.tape_path).filename();
  entry.pid = traits.identity.pid;
  entry.parent_pid = traits.identity.parent_pid;
  entry.executable = traits.identity.executable;
  entry.command_line = traits.identity.command_line;
  if (process.title() != schema::title_of(entry.command_line)) entry.title = process.title();
  entry.ended = schema::describe(reason);
  entry.interval = interval_;
}

// One line for all tapes that failed alike: a full disk would fill the screen.
void ProcessTable::note_failures(const std::vector<std::string>& failures) {
  if (failures.empty()) return;
  const size_t others = failures.size() - 1;
  failures_.push_back(failures.front());
  if (others == 0) return;
  failures_.back() +=
      "; the same with " + std::to_string(others) + (others == 1 ? " other tape" : " other tapes");
}

void ProcessTable::wait_for_tapes() {
  std::vector<std::string> unwritten;
  std::vector<std::string> cut_short;
  for (const WrittenTape& tape : writers_.wait()) {
    schema::ManifestProcess& entry = manifest_[tape.id];
    if (!tape.summary.ok()) {
      unwritten.push_back(tape.summary.error().message);
      entry.lost_events = tape.events;
      continue;
    }
    entry.events = tape.summary->events;
    entry.bytes = tape.bytes;
    entry.lost_events = tape.summary->losses.lost_events;
    entry.ended = schema::describe(tape.summary->end_reason);
    entry.largest_sample = tape.summary->largest_sample;
    if (tape.summary->end_reason != schema::EndReason::kDiskFull) continue;
    cut_short.push_back("the disk is full: '" + tape.path + "' holds " +
                        (writers_.kept() ? "the last " : "the first ") +
                        std::to_string(entry.events) + " events, " +
                        std::to_string(entry.lost_events) + " are lost");
  }
  note_failures(unwritten);
  note_failures(cut_short);
}

std::vector<SlotId> ProcessTable::find_gone() {
  if (!heirs_.empty()) settle_heirs();
  std::vector<SlotId> gone;
  for (const auto& [slot, process] : processes_) {
    // What is left of a long backlog is not for one go, and what is inherited comes soon.
    const bool is_heir = process->merge().awaits_inheritance();
    if (!is_heir && !process->merge().has_rounds() && process->is_gone()) gone.push_back(slot);
  }
  if (gone.empty()) return gone;
  // A thread that comes now sees the mark, or its ring is seen by the second look; and so are the
  // children that such a process forked, which need to know it.
  for (const SlotId slot : gone) shared(slot).state.store(SlotState::kEnding);
  adopt_claims();
  std::erase_if(gone, [this](SlotId slot) {
    const auto process = processes_.find(slot);
    if (process == processes_.end()) return true;  // another has its pid now
    if (process->second->is_gone()) return false;
    shared(slot).state.store(SlotState::kRunning);
    return true;
  });
  return gone;
}

void ProcessTable::free_what_the_dead_left() {
  for (const auto& [slot, process] : processes_) {
    std::vector<uint32_t>& owners = owners_in(pool_of(slot), 0);
    for (const uint32_t ring : process->merge().free_dead_rings()) owners[ring] = kNobody;
  }
  for (const auto& [number, pool] : pools_.mapped()) free_what_the_dead_left_in(*pool);
}

void ProcessTable::free_what_the_dead_left_in(const Pool& pool) {
  const SessionView& view = pool.view();
  for (uint32_t slot = 0; slot < used(view.header().slots_taken, view.rings()); ++slot) {
    const ProcessSlot& claimed = view.process(slot);
    if (claimed.state.load() == SlotState::kFree &&
        owner_state(claimed.lock) == OwnerState::kDead) {
      free_slot(pool, slot);
    }
  }
  const uint32_t rings = used(view.header().rings_taken, view.rings());
  const std::vector<uint32_t>& owners = owners_in(pool, rings);
  for (uint32_t index = 0; index < rings; ++index) {
    if (owners[index] == kNobody && is_nobodys(view, view.ring(index))) free_ring(view, index);
  }
}

}  // namespace heaptape::recorder
