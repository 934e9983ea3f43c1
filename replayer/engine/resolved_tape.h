// A whole tape with its events resolved, batch by batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/result.h"
#include "replayer/engine/ahead.h"
#include "replayer/engine/slot_resolver.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Calls visit(batch, resolved) for the events of a reader at the beginning of its tape, up to the
// last of `stops` (ascending; UINT64_MAX: all events). A batch ends after each of these. Reading,
// resolving and visiting each have a thread; `visit` runs in the caller's. `progress`, which must
// not be empty, gets the share done, 0 to 1. Finishes `resolver`. Fails if the tape is damaged.
template <typename Visit>
base::Status for_each_resolved(schema::TapeReader& tape, std::span<const uint64_t> stops,
                               SlotResolver& resolver, const std::function<void(double)>& progress,
                               Visit visit) {
  Ahead<schema::EventBatch> reading(
      {.items = 3, .kept = 1},
      [&tape, stops, done = uint64_t{0}](schema::EventBatch& batch) mutable -> base::Result<bool> {
        while (!stops.empty() && stops.front() <= done) stops = stops.subspan(1);
        if (stops.empty()) return false;
        constexpr uint64_t kMostEvents = 1 << 14;
        HEAPTAPE_RETURN_IF_ERROR(
            tape.read(batch, std::min<uint64_t>(stops.front() - done, kMostEvents)));
        done += batch.events.size();
        // A program may also map memory, or steer its allocator, behind its last call.
        return !batch.empty();
      });
  struct Resolved {
    schema::EventBatch read;
    ResolvedBatch ops;
  };
  Ahead<Resolved> resolving({.items = 3, .kept = 1},
                            [&, done = uint64_t{0}](Resolved& batch) mutable -> base::Result<bool> {
                              HEAPTAPE_ASSIGN_OR_RETURN(schema::EventBatch * read, reading.next());
                              if (read == nullptr) return false;
                              std::swap(batch.read, *read);
                              const auto& events = batch.read.events;
                              HEAPTAPE_RETURN_IF_ERROR(resolver.resolve(events, done, batch.ops));
                              done += events.size();
                              return true;
                            });
  for (;;) {
    HEAPTAPE_ASSIGN_OR_RETURN(const Resolved* batch, resolving.next());
    if (batch == nullptr) break;
    visit(batch->read, batch->ops);
    progress(static_cast<double>(batch->ops.first_event) / static_cast<double>(tape.events()));
  }
  resolver.finish();
  return {};
}

}  // namespace heaptape::replayer
