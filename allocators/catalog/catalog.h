// The allocators that a tape can be replayed on, by name. Explicit: nothing registers itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "allocators/native/worker/worker_protocol.h"
#include "base/parameters.h"
#include "schema/tape/tape_info.h"

namespace heaptape::allocators {

// SPEC of the command line: [label=]BACKEND [ENV=VALUE...], separated by blanks.
struct BackendSpec {
  std::string label;    // the text of BACKEND where none is given
  std::string backend;  // "glibc", "lib:./libmine.so", "model:ptmalloc:tcache_count=0"
  std::vector<std::string> environment;  // NAME=VALUE
};

// What a backend may need to know of the replay.
struct BackendContext {
  const schema::TapeHeader* header;
  Touch touch = Touch::kPage;
};

struct CatalogEntry {
  std::string name;
  std::string description;                       // one line
  std::vector<base::Parameter> parameters = {};  // of a model
};

// In the order in which they are shown.
const std::vector<CatalogEntry>& catalog();

// Fails with kUsage: an empty spec, an unknown allocator (the message lists those known), something
// that is no NAME=VALUE, an environment for a backend that has none.
Result<BackendSpec> parse_spec(const std::string& text);

// A backend that has not been started. `spec` must come from parse_spec.
Result<std::unique_ptr<Backend>> make_backend(const BackendSpec& spec,
                                              const BackendContext& context);

// False for what simulates (models, plug-ins), plays back (recorded) or does nothing (noop):
// touching memory means nothing to it.
bool runs_real_code(const BackendSpec& spec);

}  // namespace heaptape::allocators
