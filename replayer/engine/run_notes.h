// What cannot be taken from the figures of a run, because of how it was replayed or of what its
// tape lacks. docs/metrics.md, "What a run says of itself".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// What a replay learned of its tape on the way.
class TapeFacts {
 public:
  explicit TapeFacts(const schema::TapeHeader& header);

  void note(const schema::EventBatch& batch);

  const std::string& family() const { return family_; }  // see allocator_family
  uint32_t threads() const { return threads_; }          // that made the calls replayed
  bool has_thread_ends() const { return has_thread_ends_; }
  bool has_times() const { return has_times_; }

 private:
  std::string family_;
  uint32_t threads_ = 1;
  bool has_thread_ends_ = false;
  bool has_times_ = false;
};

// How it was replayed.
struct RunModes {
  std::string threads;  // see Backend::threads
  allocators::Touch touch = allocators::Touch::kPage;
  allocators::Clock clock = allocators::Clock::kTape;
};

// A sentence each. Nothing for the recorded run, and for noop.
std::vector<std::string> run_notes(const allocators::BackendSpec& spec, const RunModes& modes,
                                   const TapeFacts& tape);

// Why no share of blocks at their recorded addresses is given; empty where one is.
std::string why_incomparable(const allocators::BackendSpec& spec, const RunModes& modes,
                             const TapeFacts& tape);

}  // namespace heaptape::replayer
