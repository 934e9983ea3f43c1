// Turns command line arguments into the allocators that a command replays on.
#pragma once

#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "cli/console.h"

namespace heaptape::cli {

// Parses the values of -a. The labels of the result differ: equal ones are an error. Errors say
// what to type instead.
base::Result<std::vector<allocators::BackendSpec>> parse_specs(
    const std::vector<std::string>& texts);

// Checks whether the backend starts here, by trying it.
base::Status try_start(const allocators::BackendSpec& spec);

// The default allocators of a replay: the recorded run, glibc, jemalloc, mimalloc and tcmalloc.
const std::vector<std::string>& default_allocators();

// Those of `names` that are available. Reports each omission and its reason on the console.
std::vector<allocators::BackendSpec> usable_specs(const std::vector<std::string>& names,
                                                  Console& console);

}  // namespace heaptape::cli
