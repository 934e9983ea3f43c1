// The allocators that a tape can be replayed on, by name. Explicit: nothing registers itself.
#pragma once

#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/parameters.h"

namespace heaptape::allocators {

struct CatalogEntry {
  std::string name;  // as written in a spec; PATH stands for a path
  BackendKind kind = BackendKind::kNative;
  std::string description;                       // one line
  std::vector<base::Parameter> parameters = {};  // of a model

  bool takes_path() const { return name.ends_with("PATH"); }
  // Real allocators other than glibc: whichever versions are installed.
  bool is_family() const {
    return kind == BackendKind::kNative && name != "glibc" && !takes_path();
  }
};

// In display order.
const std::vector<CatalogEntry>& catalog();

}  // namespace heaptape::allocators
