// The call sites of groups of pins where only some calls have their stacks: what the sampled blocks
// of the same size say, and what to record to know more. docs/metrics.md, "Holes and pins".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replayer/report/heap_sites.h"

namespace heaptape::replayer {

struct PinCallers {
  SiteOfGroup most;           // of the group's blocks
  bool is_sampled = false;    // some of the group's calls were not chosen; else the rest is unset
  uint64_t with_stack = 0;    // blocks of the group whose stacks are on the tape
  uint64_t sampled_like = 0;  // live blocks of that size whose stacks are on the tape
  std::vector<SiteOfGroup> like = {};  // most of these by site, at most three, the most first
  // The size that most of the blocks without a stack were asked for in: that of the group unless
  // they were resized.
  uint64_t advised_bytes = 0;
};

// For each group, in order. Takes one pass over the blocks of the picture.
std::vector<PinCallers> pin_callers(const HeapPicture& picture, std::span<const PinGroup> groups,
                                    const CallSites& calls);

// "for parse (parser.cc:12), 3 of them"; "no stack sampled". The number of blocks is omitted if it
// is all of them.
std::string most_text(const PinCallers& callers, const PinGroup& group, const Sites& sites);

// "of 31 sampled blocks of 48 bytes, 30 were asked for by new_session (session.cc:7)"; empty if
// these are only those of the group.
std::string like_text(const PinCallers& callers, const PinGroup& group, const Sites& sites);

// The value of `heaptape record --stacks` that records in the same way, and the stacks of all calls
// for the advised sizes as well, as far as there is room: "dwarf,every=512KiB,size=48". Empty if no
// size is advised.
std::string stacks_to_record(std::span<const PinCallers> groups, const CallSites& calls);

}  // namespace heaptape::replayer
