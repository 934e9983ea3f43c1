// The owners of the blocks of a heap, and the holes beside these. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replayer/answers/heap_growths.h"
#include "replayer/answers/holes.h"
#include "replayer/answers/pins.h"
#include "replayer/engine/explain.h"
#include "replayer/sites/call_sites.h"
#include "schema/tape/tape_info.h"

namespace heaptape::replayer {

// The standard errors of estimates; 0 where they are exact.
struct HeapErrors {
  uint64_t blocks = 0;
  uint64_t live_bytes = 0;
  uint64_t hole_bytes = 0;
  uint64_t resident_hole_bytes = 0;

  bool operator==(const HeapErrors&) const = default;
};

// The blocks that one site asked for; a resize does not change the owner.
struct HeapSite {
  uint32_t site = Sites::kNone;
  uint64_t blocks = 0;
  uint64_t live_bytes = 0;           // requested
  uint64_t slack_bytes = 0;          // usable beyond that
  uint64_t hole_bytes = 0;           // of the holes beside its blocks, each counted once
  uint64_t resident_hole_bytes = 0;  // of these
  HeapErrors errors = {};

  // The most memory that would vanish, or could be given back, without the blocks.
  uint64_t held_bytes() const { return live_bytes + slack_bytes + resident_hole_bytes; }
};

// By site number; `holes` are all of the picture. A hole between blocks of two sites counts for
// both; if stacks were sampled, half for each.
std::vector<HeapSite> heap_by_site(const HeapPicture& picture, std::span<const Hole> holes,
                                   const CallSites& calls);
// Those of them that have blocks and are not hidden, the greatest held_bytes() first.
std::vector<HeapSite> heap_sites(const HeapPicture& picture, std::span<const Hole> holes,
                                 const CallSites& calls);

// The same for one heap, for the table of all sites of a tape.
struct HeapOfSites {
  std::string label;    // of the run
  std::string backend;  // as requested
  Moment moment;
  bool knows_slack = true;        // else usable sizes are the requested ones
  bool knows_pinned = true;       // else resident parts of holes mean nothing
  std::vector<HeapSite> by_site;  // by number
  HeapSite total = {};            // for the whole heap: each hole once
};
// Requires that the run succeeded and has its picture.
HeapOfSites heap_of_sites(const schema::TapeHeader& tape, const Explanation& explanation,
                          const CallSites& calls);

// The site that asked for most blocks of a group, and its number of blocks: of those whose stacks
// are on the tape.
struct SiteOfGroup {
  uint32_t site = Sites::kNone;
  uint64_t blocks = 0;
};
SiteOfGroup site_of_group(const HeapPicture& picture, const PinGroup& group,
                          const CallSites& calls);

// The calls whose sites an explanation names: those that asked for a block of the picture or for a
// block that pins a hole, and those that made the heap grow.
std::vector<uint64_t> calls_to_name(const HeapPicture& picture,
                                    std::span<const HeapGrowth> growths);

}  // namespace heaptape::replayer
