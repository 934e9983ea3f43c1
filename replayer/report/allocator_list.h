// The allocators available for replays, and the libraries that such replays run, for `heaptape
// allocators --json`.
#pragma once

#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/result.h"

namespace heaptape::replayer {

struct ListedAllocator {
  allocators::BackendSpec spec = {};
  bool is_available = false;
  std::string library = {};   // path of the file that serves malloc; empty: none, or unavailable
  std::string build_id = {};  // of that file, as bytes; empty: it has none
  std::string version = {};   // according to the library
};

struct AllocatorList {
  std::vector<std::string> engine_build_ids;  // of heaptape and of heaptape-worker, as bytes
  std::vector<ListedAllocator> allocators;
};

// AllocatorList of report.capnp as JSON. Fails only if a text is too long for Cap'n Proto.
base::Result<std::string> allocator_list_json(const AllocatorList& list);

}  // namespace heaptape::replayer
