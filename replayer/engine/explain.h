// Where the memory of one allocator is at one moment of a tape, and what would give it back.
// docs/metrics.md, "The account" and "Holes and pins".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/result.h"
#include "replayer/engine/replay.h"
#include "replayer/engine/tape_moments.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

struct ExplainOptions {
  allocators::BackendSpec spec;
  MomentRequest at;
  allocators::Touch touch = allocators::Touch::kPage;
  allocators::Threads threads = allocators::Threads::kOrdered;
  allocators::Clock clock = allocators::Clock::kTape;
  uint32_t heap_growths = 10;   // how many of the largest to keep
  bool with_foresight = false;  // takes several times as long
};

// What is to be explained, and where the replay for it may begin.
struct ExplainedMoment {
  Moment moment;
  // Null: at the first call.
  std::shared_ptr<const schema::Keyframe> keyframe;
};
// As find_moment() does. A keyframe is used for the recorded allocator, at a call or time that was
// named: what is found in the whole tape has been read, and then growths are worth having in full.
base::Result<ExplainedMoment> find_explained(schema::TapeReader& tape,
                                             const ExplainOptions& options,
                                             const std::function<void(double)>& progress);

struct Explanation {
  Moment moment;
  // Up to that moment, with its picture and account. Right behind it the allocator was asked to
  // give memory back: the one of `actions`, if it can be asked.
  RunResult run;
  // Resident on model:foresight at that moment.
  std::optional<uint64_t> foresight_bytes;

  const MomentState& state() const { return run.metrics.moments.front(); }
};

enum class Remedy : uint8_t { kTrim, kPurge, kMeshing, kForesight, kCompaction };

// Resident bytes that would come back.
struct Estimate {
  Remedy remedy = Remedy::kPurge;
  uint64_t bytes = 0;
};
// The first is what the allocator can be asked for. Requires that the run did not fail, and has an
// account.
std::vector<Estimate> estimates_of(const Explanation& explanation);

// Replays `tape` as far as the moment, and to its end no further. Fails as replay() does; an
// allocator that fails is in Explanation::run.
base::Result<Explanation> explain(schema::TapeReader& tape, const ExplainOptions& options,
                                  ExplainedMoment explained,
                                  const std::function<void(double)>& progress);

}  // namespace heaptape::replayer
