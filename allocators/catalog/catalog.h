// The allocators that a tape can be replayed on, by name. Explicit: nothing registers itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/parameters.h"

namespace heaptape::allocators {

struct CatalogEntry {
  std::string name;  // as it is written in a spec; PATH stands for a path
  BackendKind kind = BackendKind::kNative;
  std::string description;                       // one line
  std::vector<base::Parameter> parameters = {};  // of a model

  bool takes_path() const { return name.ends_with("PATH"); }
};

// In the order in which they are shown.
const std::vector<CatalogEntry>& catalog();

// A well-known allocator, as distributions package it.
struct PackagedAllocator {
  const char* name;
  const char* library;  // searched by the loader
  const char* package;  // of Debian and Ubuntu
};

// Null if there is none of that name.
const PackagedAllocator* find_packaged(std::string_view name);

}  // namespace heaptape::allocators
