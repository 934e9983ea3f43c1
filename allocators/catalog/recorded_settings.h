// Settings of allocators in the environment of the recorded program, on the allocators of a replay.
#pragma once

#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/parameters.h"
#include "schema/tape/tape_info.h"

namespace heaptape::allocators {

struct RecordedSettings {
  // For a real allocator: that of the spec, and what the recorded allocator was told.
  std::vector<std::string> environment = {};
  base::Values options = {};               // for a model, the same
  std::vector<std::string> obeyed = {};    // NAME=VALUE, of those on the tape
  std::vector<std::string> left_out = {};  // those that do not apply here, or are not wanted
};

// Settings of the recorded allocator apply to allocators of its family, and to models of it as far
// as these have such an option. A setting in the spec itself counts instead. Settings that the
// recorded allocator does not read are not mentioned.
RecordedSettings with_recorded_settings(const BackendSpec& spec, const schema::TapeHeader& header,
                                        Steer steer);

}  // namespace heaptape::allocators
