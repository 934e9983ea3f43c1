// Whose the blocks of a heap are, and what stands beside them. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replayer/answers/heap_growths.h"
#include "replayer/answers/holes.h"
#include "replayer/answers/pin_ranking.h"
#include "replayer/engine/explain.h"
#include "replayer/sites/call_sites.h"
#include "schema/tape/tape_info.h"

namespace heaptape::replayer {

// Of the blocks that one site asked for; a resize does not change whose a block is.
struct HeapSite {
  uint32_t site = Sites::kNone;
  uint64_t blocks = 0;
  uint64_t live_bytes = 0;           // requested
  uint64_t slack_bytes = 0;          // usable beyond that
  uint64_t hole_bytes = 0;           // of the holes beside them, each counted once
  uint64_t resident_hole_bytes = 0;  // of these

  // What would be there no more without them, or could be given back, at most.
  uint64_t held_bytes() const { return live_bytes + slack_bytes + resident_hole_bytes; }
};

// By number of the site; `holes` are all of the picture. A hole between blocks of two sites counts
// for both; where stacks were sampled, half for each.
std::vector<HeapSite> heap_by_site(const HeapPicture& picture, std::span<const Hole> holes,
                                   const CallSites& calls);
// Of these, those that have blocks and that the user wants to see: the ones that hold most first.
std::vector<HeapSite> heap_sites(const HeapPicture& picture, std::span<const Hole> holes,
                                 const CallSites& calls);

// The same of one heap for the table of all sites of a tape.
struct HeapOfSites {
  std::string label;    // of the run
  std::string backend;  // as it was asked for
  Moment moment;
  bool knows_slack = true;        // else usable sizes are the requested ones
  std::vector<HeapSite> by_site;  // by number
  HeapSite total = {};            // of the whole heap: each hole once
};
// Requires that the run did not fail, and has its picture.
HeapOfSites heap_of_sites(const schema::TapeHeader& tape, const Explanation& explanation,
                          const CallSites& calls);

// Who asked for most of the blocks of a group, and for how many of them.
struct SiteOfGroup {
  uint32_t site = Sites::kNone;
  uint64_t blocks = 0;
};
SiteOfGroup site_of_group(const HeapPicture& picture, const PinGroup& group,
                          const CallSites& calls);

// The calls whose sites an explanation names: those that asked for a block of the picture, for one
// that pins a hole, and those by which the heap grew.
std::vector<uint64_t> calls_to_name(const HeapPicture& picture,
                                    std::span<const HeapGrowth> growths);

}  // namespace heaptape::replayer
