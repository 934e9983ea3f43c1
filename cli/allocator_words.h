// The allocators that a command is to replay on, from the words of the command line.
#pragma once

#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "cli/console.h"

namespace heaptape::cli {

// What was given with -a. Labels differ. Fails with a sentence that says what to type instead; see
// parse_spec.
base::Result<std::vector<allocators::BackendSpec>> parse_specs(
    const std::vector<std::string>& texts);

// Whether the backend can be started here: tries it.
base::Status try_start(const allocators::BackendSpec& spec);

// What a command replays on if it is not told: the recorded run, glibc, jemalloc, mimalloc and
// tcmalloc.
const std::vector<std::string>& default_allocators();

// Those of `names` that are there. Says on the console which are left out, and why.
std::vector<allocators::BackendSpec> usable_specs(const std::vector<std::string>& names,
                                                  Console& console);

}  // namespace heaptape::cli
