// The models, by name. Explicit: nothing registers itself. docs/models has a page on each.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "allocators/backend.h"
#include "base/parameters.h"

namespace heaptape::allocators {

struct ModelEntry {
  const char* name;         // "model:runs"
  const char* description;  // one line
  std::unique_ptr<Backend> (*make)(const base::Values& options, uint64_t recorded_break);
  std::vector<base::Parameter> (*parameters)();
  bool sees_time;            // acts on the clock of the tape itself; its base may as well
  const char* family;        // of the allocator whose addresses it computes; null if only its own
  const char* version = "";  // of that allocator, as its library reports it
};

// In display order.
std::span<const ModelEntry> models();

// `name` is "model:NAME"; null if there is no such model.
const ModelEntry* find_model(std::string_view name);

}  // namespace heaptape::allocators
