// Replays a tape on some allocators in one pass: every event is read and resolved once, and goes to
// each allocator in turn; in another one for times. docs/architecture.md, "Replay".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/result.h"
#include "replayer/answers/closeup.h"
#include "replayer/answers/moment.h"
#include "replayer/answers/pins.h"
#include "replayer/engine/action.h"
#include "replayer/heap_map/heap_film.h"
#include "replayer/heap_map/heap_picture.h"
#include "replayer/metrics/program_profile.h"
#include "replayer/metrics/run_metrics.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

struct ReplayOptions {
  std::vector<allocators::BackendSpec> specs;
  allocators::Touch touch = allocators::Touch::kPage;
  allocators::Threads threads = allocators::Threads::kOrdered;  // of real allocators
  allocators::Clock clock = allocators::Clock::kTape;           // that real allocators see
  allocators::Steer steer = allocators::Steer::kAsRecorded;
  uint32_t samples = 256;  // points on the timeline, spread evenly over the range; at least 1
  // The first call of the range that is analyzed, from 1; at most `until` and the tape's calls. The
  // calls before it are made and not counted.
  uint64_t from = 1;
  uint64_t until = UINT64_MAX;  // stop after this many events
  // The keyframe right before `from`, with whose blocks the replay begins. Only the recorded
  // allocator can begin there: others would place these blocks elsewhere. Null: at the first call.
  std::shared_ptr<const schema::Keyframe> beginning = {};
  std::vector<Action> actions = {};
  std::vector<Moment> moments = {};                 // to look at; none is outside the range
  std::vector<schema::ProcessSample> process = {};  // for the report: see find_moments()
  uint32_t heap_growths = 10;                       // how many of the largest to keep
  bool looks_first = false;                         // at moments, before actions of the same place
  bool keep_picture = false;                        // of the last of them
  bool name_culprits = false;                       // who pins most, at each moment but marks
  // What pins at each moment but marks, where placements say something: in cohorts, block by block.
  bool keep_pins = false;
  bool keep_pinning_blocks = false;
  bool keep_film = false;  // of the first replay of each, where placements say something
  uint32_t repeats = 1;    // of what is timed (real allocators, noop); at least 1
  // Real allocators and noop are replayed again for their times: see timing.h.
  bool times = true;
  // Allocators at work at the same time; at least 1. With more than one no time is told.
  uint32_t jobs = 1;
};

// Why and where an allocator failed: it died, hung, or handed out a block that cannot be.
struct RunFailure {
  uint64_t event = 0;  // number of the call, from 1; 0 = before any
  std::string text;    // a sentence
};

struct RunResult {
  allocators::BackendSpec spec;
  RunMetrics metrics = {};                 // empty where it failed
  std::optional<RunFailure> failure = {};  // nothing: it came to the end of the tape
  // Of each replay, without their timelines; empty where there was one.
  std::vector<RunMetrics> repeats = {};
  std::vector<std::string> notes = {};  // see Backend::notes
  std::string output = "";              // see Backend::output
  std::string library = "";             // the same, as the next; empty where it failed
  std::string version = "";
  std::optional<HeapPicture> picture = {};
  std::vector<PinsAtMoment> pins = {};  // block by block, by call; empty where they were not kept
  std::shared_ptr<const HeapFilm> film = nullptr;  // null where it was not kept
  std::vector<Closeup> closeups = {};              // with a film, at each moment but marks, by call
  // Of the calls that were replayed: the same in all runs that came to the end.
  std::shared_ptr<const ProgramProfile> program = nullptr;
};

// Reads `tape`, which stands at its beginning. `progress` (may be empty) is called now and then
// with the share that is done, 0 to 1. Runs come back in the order of the specs. An allocator that
// fails ends its own run and no other. Repeats are passes over the tape of their own, so that runs
// alternate; see repeats.h for what becomes of them. Fails when the tape is damaged or has more
// live blocks than slots, when an action is outside the range, and when an allocator cannot be
// loaded or refuses its options.
base::Result<std::vector<RunResult>> replay(schema::TapeReader& tape, const ReplayOptions& options,
                                            const std::function<void(double)>& progress);

}  // namespace heaptape::replayer
