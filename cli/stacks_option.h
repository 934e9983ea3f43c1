// The value of --stacks: "none", or how stacks are found, how deep, and for which calls.
#pragma once

#include <string>

#include "recorder/collector/session_memory.h"

namespace heaptape::cli {

// Sets the options' stack_frames, unwinding, stack_bytes and stack_sizes. Throws
// CLI::ValidationError with a sentence that says what to type.
void set_stacks(const std::string& text, recorder::SessionOptions& options);

}  // namespace heaptape::cli
