// One process of a recording: who it is, its merge and tape, and whether it still runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/collector/ring_merge.h"

namespace heaptape::recorder {

class RecordedProcess {
 public:
  struct Traits {
    ProcessIdentity identity;
    std::string tape_path;
    uint64_t serial = 0;      // ProcessSlot::serial
    bool is_glibc = false;    // glibc serves its malloc
    bool pid_is_ours = true;  // identity.pid names it in our pid namespace, too
    size_t manifest_index = 0;
  };

  RecordedProcess(std::unique_ptr<RingMerge> merge, ProcessSlot& slot, Traits traits);

  RingMerge& merge() { return *merge_; }
  const RingMerge& merge() const { return *merge_; }
  const Traits& traits() const { return traits_; }

  // Whether `pid` names this process in our pid namespace.
  bool is(uint32_t pid) const { return traits_.pid_is_ours && traits_.identity.pid == pid; }
  // It has ended: as the kernel says of its pid, or, where that means nothing to us or we have no
  // descriptor left, as its threads' locks say. A thread that never called malloc has none; should
  // it do so later, it joins as a process of its own.
  bool is_gone() const;

  // Puts what came since the last time into the file, when it is time: that much survives if we are
  // killed.
  void flush_if_due(uint64_t now_ns);
  // Takes a sample when it is time for one. `processes` share the time that we spend on samples.
  void sample_if_due(uint64_t now_ns, size_t processes);

 private:
  std::unique_ptr<RingMerge> merge_;
  ProcessSlot& slot_;
  const Traits traits_;
  base::Descriptor pidfd_;  // none: the pid is not ours, or no descriptor was left
  bool was_gone_ = false;   // before we could open it
  uint64_t next_flush_ns_;
  uint64_t flushed_events_ = 0;
  uint64_t next_sample_ns_ = 0;
  uint64_t sample_every_ns_;
};

}  // namespace heaptape::recorder
