#include "recorder/collector/process_table.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/version.h"

namespace heaptape::recorder {
namespace {

// Reads each field once: the process can write there at any time.
Claim read_claim(const ProcessSlot& slot, uint32_t index) {
  char allocator[kAllocatorPathBytes];
  std::copy_n(slot.allocator_path, kAllocatorPathBytes, allocator);
  allocator[kAllocatorPathBytes - 1] = 0;
  return {index,    slot.flags, slot.pid, slot.serial, slot.parent_serial, slot.initial_break,
          allocator};
}

}  // namespace

void ProcessTable::adopt_claims() {
  const uint32_t claims = session_.header().claims.load(std::memory_order_acquire);
  if (claims == seen_claims_) return;
  seen_claims_ = claims;
  std::vector<Claim> found;
  for (uint32_t slot = 0; slot < kProcessSlots; ++slot) {
    if (session_.process(slot).state.load(std::memory_order_acquire) == SlotState::kRunning &&
        !processes_.contains(slot)) {
      found.push_back(read_claim(session_.process(slot), slot));
    }
  }
  // In the order in which they came, which is not that of slots: if a pid came twice, by exec, the
  // later process replaces the earlier one.
  std::ranges::sort(found, {}, &Claim::serial);
  for (const Claim& claim : found) adopt_process(claim);
  adopt_rings();
}

void ProcessTable::adopt_rings() {
  for (uint32_t index = 0; index < kRings; ++index) {
    const RingHeader& ring = session_.ring(index);
    if (ring_owner_[index] != kNobody ||
        ring.state.load(std::memory_order_acquire) != RingState::kOwned) {
      continue;
    }
    const auto owner = processes_.find(ring.process_slot);
    if (owner == processes_.end()) continue;
    owner->second->merge().add_ring(index);
    ring_owner_[index] = owner->first;
  }
}

RecordedProcess* ProcessTable::find_serial(uint64_t serial) {
  const auto found = std::ranges::find_if(
      processes_, [serial](const auto& entry) { return entry.second->traits().serial == serial; });
  return found == processes_.end() ? nullptr : found->second.get();
}

// A forked process is what its parent was. /proc may already show what it has executed since.
ProcessIdentity ProcessTable::identify(const Claim& claim) {
  ProcessIdentity identity;
  if (const RecordedProcess* parent = find_serial(claim.parent_serial)) {
    identity = parent->traits().identity;
    identity.parent_pid = identity.pid;
  } else if (auto seen = handshakes_.take_identity(claim.pid);
             seen && (claim.flags & kSlotForked) == 0) {
    identity = std::move(*seen);
  } else {
    identity = identify_process(claim.pid);
  }
  identity.pid = claim.pid;
  return identity;
}

void ProcessTable::adopt_process(const Claim& claim) {
  const bool forked = (claim.flags & kSlotForked) != 0;
  const bool foreign = (claim.flags & kSlotForeignPids) != 0;
  if (!forked) {
    const auto replaced = std::ranges::find_if(
        processes_, [&claim](const auto& entry) { return entry.second->is(claim.pid); });
    if (replaced != processes_.end()) end(replaced->first, schema::EndReason::kReplaced, 0);
  }
  RecordedProcess::Traits traits;
  traits.identity = identify(claim);
  traits.tape_path = names_.next(traits.identity);
  traits.serial = claim.serial;
  traits.pid_is_ours = !foreign || !forked;
  traits.tids_are_ours = !foreign;
  traits.manifest_index = manifest_.size();
  traits.is_glibc = schema::is_glibc(claim.allocator);
  auto tape = create_tape(traits.tape_path, claim, traits.identity);
  auto merge =
      std::make_unique<RingMerge>(session_, claim.slot, tape->encoder(), base::monotonic_ns());
  manifest_.emplace_back();
  processes_.emplace(claim.slot, std::make_unique<RecordedProcess>(
                                     std::move(tape), std::move(merge), std::move(traits)));
}

std::unique_ptr<TapeStream> ProcessTable::create_tape(const std::string& path, const Claim& claim,
                                                      const ProcessIdentity& identity) {
  schema::TapeHeader header;
  header.writer = std::string("heaptape ") + base::kVersion;
  header.command_line = identity.command_line;
  header.executable = identity.executable;
  header.allocator = claim.allocator;
  header.pid = identity.pid;
  header.parent_pid = identity.parent_pid;
  header.page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  header.start_unix_ns = base::clock_ns(CLOCK_REALTIME);
  header.initial_break = claim.initial_break;
  header.clock = session_.header().clock == Clock::kTsc ? schema::StampClock::kTsc
                                                        : schema::StampClock::kCounter;
  auto tape = std::make_unique<TapeStream>(writers_, path, std::move(header));
  // The file of the whole recording keeps another recording off its name.
  if (manifest_.empty()) tape->open();
  return tape;
}

void ProcessTable::end(uint32_t slot, schema::EndReason reason, int32_t status) {
  adopt_rings();  // that it claimed in its last moments
  RecordedProcess& process = *processes_.at(slot);
  process.merge().drain(RingMerge::kEverything, base::monotonic_ns());
  finish(process, reason, status);
  process.merge().free_slot();
  std::ranges::replace(ring_owner_, slot, kNobody);
  processes_.erase(slot);
}

void ProcessTable::leave(uint32_t slot, uint64_t cut) {
  RecordedProcess& process = *processes_.at(slot);
  process.merge().drain(cut, base::monotonic_ns());
  finish(process, schema::EndReason::kRecordingStopped, -1);
  processes_.erase(slot);
}

void ProcessTable::finish(RecordedProcess& process, schema::EndReason reason, int32_t status) {
  schema::TapeSummary summary = process.merge().collect_summary(base::monotonic_ns());
  summary.end_reason = reason;
  summary.end_status = status;
  const RecordedProcess::Traits& traits = process.traits();
  process.tape().finish(traits.manifest_index, summary);
  schema::ManifestProcess& entry = manifest_[traits.manifest_index];
  entry.tape = std::filesystem::path(traits.tape_path).filename();
  entry.pid = traits.identity.pid;
  entry.parent_pid = traits.identity.parent_pid;
  entry.executable = traits.identity.executable;
  entry.command_line = traits.identity.command_line;
  entry.ended = schema::describe(reason);
}

void ProcessTable::wait_for_tapes() {
  for (const WrittenTape& tape : writers_.wait()) {
    schema::ManifestProcess& entry = manifest_[tape.id];
    if (!tape.summary.ok()) {
      failures_.push_back(tape.summary.error().message);
      entry.lost_events = tape.events;
      continue;
    }
    entry.events = tape.summary->events;
    entry.bytes = tape.bytes;
    entry.lost_events = tape.summary->losses.lost_events;
    entry.ended = schema::describe(tape.summary->end_reason);
    if (tape.summary->end_reason != schema::EndReason::kDiskFull) continue;
    failures_.push_back("the disk is full: '" + tape.path + "' holds the first " +
                        std::to_string(entry.events) + " events, " +
                        std::to_string(entry.lost_events) + " are lost");
  }
}

void ProcessTable::free_dead_rings() {
  for (const auto& [slot, process] : processes_) {
    for (const uint32_t index : process->free_dead_rings()) ring_owner_[index] = kNobody;
  }
}

}  // namespace heaptape::recorder
