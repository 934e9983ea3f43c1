// Which library a native backend gets its malloc from: what `glibc`, `FAMILY`, `FAMILY@X` and
// `lib:PATH` name on this machine.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::allocators {

// Where a native backend gets its malloc.
struct NativeLibrary {
  std::string preload;  // an absolute path; empty: libc serves malloc
  std::string family;   // see allocator_family
  std::string refusal;  // why there is none to start, as the end of a sentence; empty: there is
};

// Whether `text` is of one of those forms.
bool names_library(const std::string& text);

// The path that `text` names; empty where it names none.
std::string library_path(const std::string& text);

// Fails with kUsage for FAMILY@X that makes no sense: a file of another family, another libc. A
// library that is not here or is damaged is no failure but a refusal: that of its run.
base::Result<NativeLibrary> choose_library(const std::string& text);

}  // namespace heaptape::allocators
