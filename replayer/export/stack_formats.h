// The stacks of a tape in the formats of other tools.
#pragma once

#include <string>

#include "replayer/export/shown_stacks.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

// For flamegraph.pl and similar tools: a line for each stack, "outer;inner 4096". Functions without
// lines; omits stacks without a value. Semicolons in names become colons. Sorted by name.
std::string folded_text(const ShownStacks& stacks, StackValue value);

// For https://www.speedscope.app: its own format, a "sampled" profile for each value that stacks
// have. JSON. `shown`: the value whose profile is shown first. `name`: the tape's.
std::string speedscope_json(const ShownStacks& stacks, StackValue shown, const std::string& name);

// For pprof: perftools.profiles.Profile of
// https://github.com/google/pprof/blob/main/proto/profile.proto, packed by gzip.
// Each sample has peak_bytes, peak_blocks, alloc_bytes, alloc_calls, end_bytes, temporaries and
// mapped_bytes.
// `shown`: the one that a viewer shows first.
std::string pprof_profile(const ShownStacks& stacks, StackValue shown);

}  // namespace heaptape::replayer
