// One process of a recording: who it is, its tape, and what can be seen of it from here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recorder/collector/process_recorder.h"
#include "recorder/collector/process_sampler.h"

namespace heaptape::recorder {

class RecordedProcess {
 public:
  struct Traits {
    ProcessIdentity identity;
    std::string tape_path;
    uint64_t serial = 0;        // ProcessSlot::serial
    bool is_glibc = false;      // its malloc is
    bool pid_is_ours = true;    // identity.pid means the process here, too
    bool tids_are_ours = true;  // and so do its thread ids
    size_t manifest_index = 0;
  };

  RecordedProcess(std::unique_ptr<ProcessRecorder> recorder, Traits traits);
  ~RecordedProcess();
  RecordedProcess(const RecordedProcess&) = delete;
  RecordedProcess& operator=(const RecordedProcess&) = delete;

  ProcessRecorder& recorder() { return *recorder_; }
  const ProcessRecorder& recorder() const { return *recorder_; }
  const Traits& traits() const { return traits_; }

  // Whether it is the process that `pid` means here.
  bool is(uint32_t pid) const { return traits_.pid_is_ours && traits_.identity.pid == pid; }
  // It has ended. False, too, when that cannot be seen from here.
  bool is_gone() const;

  // Puts what came since the last time into the file, if it is time: that much is safe from our own
  // sudden end.
  void flush_if_due(uint64_t now_ns);
  // Takes a sample when it is time for one.
  void sample_if_due(uint64_t now_ns);
  // Frees the rings of threads that are gone. Their indices.
  std::vector<uint32_t> free_dead_rings();

 private:
  std::unique_ptr<ProcessRecorder> recorder_;
  const Traits traits_;
  int pidfd_ = -1;         // -1: see is_gone()
  bool was_gone_ = false;  // already when we came to know of it
  uint64_t next_flush_ns_;
  uint64_t flushed_events_ = 0;
  uint64_t next_sample_ns_ = 0;
  uint64_t sample_every_ns_;
};

}  // namespace heaptape::recorder
