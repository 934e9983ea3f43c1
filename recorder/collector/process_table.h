// The processes of a recording: finds them in the session, knows which ring is whose, and finishes
// the tape of each when it ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "recorder/collector/doorman.h"
#include "recorder/collector/recorded_process.h"
#include "recorder/collector/tape_names.h"
#include "schema/tape/manifest.h"

namespace heaptape::recorder {

// What a process that claimed a slot says of itself there. The fields are those of ProcessSlot.
struct Claim {
  uint32_t slot;
  uint32_t flags;
  uint32_t pid;
  uint64_t serial;
  uint64_t parent_serial;
  uint64_t initial_break;
  std::string allocator;
};

// One thread: the collector's.
class ProcessTable {
 public:
  ProcessTable(SessionView session, Doorman& doorman, const std::string& tape_path)
      : session_(session), doorman_(doorman), names_(tape_path), ring_owner_(kRings, kNobody) {}

  // Takes in what was claimed since the last call. Between taking the cut of a drain and reading
  // the rings, so that whatever happened before the cut is in a ring that is known.
  void adopt_claims();
  // Something was claimed that adopt_claims() has not seen.
  bool has_news() const { return session_.header().claims.load() != seen_claims_; }

  // Writes what is left of a process, finishes its tape and gives its slot back. The process must
  // be gone, or another image in its place.
  void end(uint32_t slot, schema::EndReason reason, int32_t status);
  // Finishes the tape of a process that goes on without us.
  void leave(uint32_t slot, uint64_t cut);

  void free_dead_rings();

  // By slot. Adopting and ending change it.
  using Processes = std::map<uint32_t, std::unique_ptr<RecordedProcess>>;
  const Processes& processes() const { return processes_; }

  // What became of them: the first process first, and one sentence for each thing that went wrong.
  std::vector<schema::ManifestProcess>& manifest() { return manifest_; }
  std::vector<std::string>& failures() { return failures_; }

 private:
  static constexpr uint32_t kNobody = kProcessSlots;

  void adopt_process(const Claim& claim);
  void adopt_rings();
  ProcessIdentity identify(const Claim& claim);
  std::unique_ptr<schema::TapeWriter> create_tape(const std::string& path, const Claim& claim,
                                                  const ProcessIdentity& identity);
  RecordedProcess* find_serial(uint64_t serial);
  void finish(RecordedProcess& process, schema::EndReason reason, int32_t status);

  SessionView session_;
  Doorman& doorman_;
  TapeNames names_;
  Processes processes_;
  std::vector<uint32_t> ring_owner_;  // slot by ring, or kNobody
  uint32_t seen_claims_ = 0;
  std::vector<schema::ManifestProcess> manifest_;
  std::vector<std::string> failures_;
};

}  // namespace heaptape::recorder
