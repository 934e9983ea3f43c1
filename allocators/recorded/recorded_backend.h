// The allocator as it was when the tape was recorded: its blocks are where the tape says. Its
// memory is known only as far as the collector saw it from outside, at the tape's process samples.
#pragma once

#include <string>
#include <unordered_map>

#include "allocators/backend.h"
#include "base/address/region_set.h"
#include "schema/tape/tape_info.h"

namespace heaptape::allocators {

// Committed memory is what the last process sample saw, plus the pages of every block placed
// outside it since. If glibc was the recorded allocator, usable sizes follow its chunk rule, and a
// block with a mapping of its own is committed while it lives; otherwise usable sizes are the
// requested ones. Resident is malloc's part of the process at the last sample that knows it; if
// none does, all anonymous memory at the last sample.
//
// If the recording began later than the program, memory that may have been there at that time is
// committed as unseen: what the first sample with regions shows, the pages of blocks placed before
// it, and regions that appear later, because until a recorded block lives in a mapping, nothing may
// tell that it is malloc's. On glibc a later region that is as small as a new arena is new. Memory
// that a region gains at its ends is new.
class RecordedBackend : public Backend {
 public:
  enum class Began : bool { kWithProgram, kLate };
  explicit RecordedBackend(const schema::TapeHeader& header, Began began = Began::kWithProgram);

  const BackendTraits& traits() const override { return traits_; }
  // kUsage if the tape was imported from a trace without addresses: its addresses are made up.
  Result<std::vector<RegionEvent>> start() override;
  Status submit(const ReplayBatch& batch) override;
  Status collect(BatchResult& result) override;
  Result<Residency> residency(std::span<const AddressRange> regions) override;
  // The samples show what came of it.
  Result<Steered> steer(const schema::SteeringCall&) override {
    return Steered{.outcome = SteeringOutcome::kRepeated};
  }
  std::vector<Counter> counters() override { return {{"processSamples", samples_}}; }

 private:
  bool has_own_mapping(uint64_t address, uint64_t size) const;
  Placement place(uint32_t op, const ReplayOp& what, uint64_t address);
  void commit(uint32_t op, AddressRange range);
  // The parts of `range` that are not committed yet.
  void commit_new(uint32_t op, AddressRange range);
  // Whether memory that is new to us may have been there when the recording began.
  bool may_be_old(AddressRange range) const;
  void decommit(uint32_t op, AddressRange range);
  void give_up(uint32_t op, uint32_t slot);
  void take_sample(uint32_t op, const schema::ProcessSample& sample);

  bool is_glibc_;
  bool is_late_;
  std::string addressless_format_;  // of that trace; else empty
  BackendTraits traits_;
  base::RegionSet committed_;
  base::RegionSet sampled_;  // the regions of the last sample that had some; of a late tape
  std::unordered_map<uint32_t, AddressRange> mapped_chunks_;  // glibc's, by slot
  BatchResult result_;
  uint64_t resident_bytes_ = 0;
  bool knows_mallocs_part_ = false;  // resident_bytes_ are malloc's
  uint64_t samples_ = 0;
};

}  // namespace heaptape::allocators
