// The recording itself: one loop that drains every ring of the session, finds new processes and
// rings, notices ends, samples, and writes a tape for each process.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recorder/collector/doorman.h"
#include "recorder/collector/process_recorder.h"
#include "recorder/collector/session_memory.h"
#include "recorder/collector/target.h"
#include "schema/manifest.h"

namespace heaptape::recorder {

struct CollectorOptions {
  std::string tape_path;  // of the first process; the others' names are made from it
  std::vector<std::string> command;
};

// What a recording came to.
struct Recording {
  TargetEnd target_end;
  schema::Manifest manifest;          // the first process first
  std::vector<std::string> failures;  // one sentence each: tapes that could not be written
};

class Collector {
 public:
  Collector(SessionMemory& memory, Doorman& doorman, CollectorOptions options);
  ~Collector();

  // Runs until the target has ended. Then every tape is finished, also those of processes that it
  // left behind.
  Recording run(int target_pid);

  // Ends a sleep of run(). Any thread.
  void wake();

 private:
  struct Recorded;

  void adopt_claims();
  void adopt_process(uint32_t slot);
  std::string tape_path_for(const ProcessIdentity& identity);
  uint64_t drain_all(uint64_t now_ns);
  bool step_writers();
  void sample_due(uint64_t now_ns);
  void check_ends(uint64_t now_ns);
  void sweep_rings(uint64_t now_ns);
  void sleep_until_needed();
  void finish(Recorded& recorded, schema::EndReason reason, int32_t status);
  void finish_all();
  bool rings_are_empty() const;

  SessionMemory& memory_;
  SessionView session_;
  Doorman& doorman_;
  CollectorOptions options_;
  Recording recording_;
  std::map<uint32_t, std::unique_ptr<Recorded>> processes_;  // by slot
  std::vector<uint32_t> ring_owner_;                         // slot by ring; kProcessSlots = none
  uint32_t seen_claims_ = 0;
  int target_pid_ = -1;
  bool first_process_ = true;
  bool warned_silent_ = false;
  uint64_t next_check_ns_ = 0;
  uint64_t next_sweep_ns_ = 0;
};

}  // namespace heaptape::recorder
