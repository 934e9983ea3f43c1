// The heap with which a forked process begins: blocks of its parent, which are on the parent's
// tape. docs/tape-format.md, "Inheritance".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"
#include "schema/tape/tape_info.h"

namespace heaptape::schema {

// A process from which another descends by fork.
struct Ancestor {
  std::string path;  // of its tape
  uint64_t start_unix_ns = 0;
  uint64_t events = 0;  // its own calls before the fork that led here
  uint32_t thread = 0;  // that forked then
};

struct InheritedHeap {
  std::vector<Event> blocks;           // a call for each, in order of birth, all of thread 0
  std::vector<FrameNumber> stacks;     // of each; empty: none has one
  std::vector<SteeringCall> settings;  // those of the parent that last, at event 0
  Stacks frames;                       // of its tape
  std::string problem;                 // one sentence on why blocks may be missing; empty: none are
  // Whose calls made that heap, from the first process to the parent.
  std::vector<Ancestor> ancestors;

  bool has_stacks() const { return frames.limit() > 1; }
};

// A reader that joins tapes goes back no further.
inline constexpr int kMostAncestors = 64;

// The heap at the fork of the process whose tape is at `path`, from the tape beside it that
// `inheritance` names; `generation` counts the tapes that were opened on the way here. Takes a pass
// over that tape up to the fork, and a second one if it has stacks; memory as LiveBlocks has it.
// The error says in one sentence why there is none.
base::Result<InheritedHeap> load_inherited_heap(const std::string& path,
                                                const Inheritance& inheritance, int generation);

}  // namespace heaptape::schema
