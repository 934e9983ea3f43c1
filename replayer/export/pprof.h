// Stacks for pprof: perftools.profiles.Profile of
// https://github.com/google/pprof/blob/main/proto/profile.proto, packed by gzip.
#pragma once

#include <string>

#include "replayer/export/shown_stacks.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

// Each sample has peak_bytes, peak_blocks, alloc_bytes, alloc_calls, end_bytes and temporaries.
// `shown`: the one that a viewer shows first.
std::string pprof_profile(const ShownStacks& stacks, StackValue shown);

}  // namespace heaptape::replayer
