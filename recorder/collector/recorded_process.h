// One process of a recording: who it is, its merge and tape, and whether it still runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/collector/ring_merge.h"
#include "recorder/collector/tape_writers.h"

namespace heaptape::recorder {

class RecordedProcess {
 public:
  struct Traits {
    ProcessIdentity identity;
    std::string tape_path;
    uint64_t serial = 0;        // ProcessSlot::serial
    bool is_glibc = false;      // glibc serves its malloc
    bool pid_is_ours = true;    // identity.pid names it in our pid namespace, too
    bool tids_are_ours = true;  // and so do its thread ids
    size_t manifest_index = 0;
  };

  // `merge` writes to `tape`.
  RecordedProcess(std::unique_ptr<TapeStream> tape, std::unique_ptr<RingMerge> merge,
                  Traits traits);

  RingMerge& merge() { return *merge_; }
  const RingMerge& merge() const { return *merge_; }
  TapeStream& tape() { return *tape_; }
  const TapeStream& tape() const { return *tape_; }
  const Traits& traits() const { return traits_; }

  // Whether `pid` names this process in our pid namespace.
  bool is(uint32_t pid) const { return traits_.pid_is_ours && traits_.identity.pid == pid; }
  // It has ended. False, too, when its pid is not ours.
  bool is_gone() const;

  // Sees to it that what came a while ago gets into the file: that much survives if we are killed.
  void save_if_due(uint64_t now_ns);
  // Takes a sample when it is time for one.
  void sample_if_due(uint64_t now_ns);
  // Frees the rings of threads that are gone and returns their indices.
  std::vector<uint32_t> free_dead_rings();

 private:
  std::unique_ptr<TapeStream> tape_;
  std::unique_ptr<RingMerge> merge_;
  const Traits traits_;
  base::Descriptor pidfd_;     // none: the pid is not ours, or no descriptor was left
  bool was_gone_ = false;      // before we could open it
  uint64_t next_save_ns_ = 0;  // 0: there was nothing to save
  uint64_t saved_events_ = 0;
  uint64_t next_sample_ns_ = 0;
  uint64_t sample_every_ns_;
};

}  // namespace heaptape::recorder
