// Allocators that replays are possible on, and whose code they would run, for
// `heaptape allocators --json`.
#pragma once

#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/result.h"

namespace heaptape::replayer {

struct ListedAllocator {
  allocators::BackendSpec spec = {};
  bool is_available = false;
  std::string library = {};   // path of the file that serves malloc; empty: none, or not available
  std::string build_id = {};  // of that file, as bytes; empty: it has none
  std::string version = {};   // as the library says
};

struct AllocatorList {
  std::vector<std::string> engine_build_ids;  // of heaptape and of heaptape-worker, as bytes
  std::vector<ListedAllocator> allocators;
};

// AllocatorList of report.capnp as JSON. Fails only when a text is longer than Cap'n Proto takes.
base::Result<std::string> allocator_list_json(const AllocatorList& list);

}  // namespace heaptape::replayer
