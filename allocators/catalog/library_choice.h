// Finds the library from which a native backend gets its malloc: the one that `glibc`, `FAMILY`,
// `FAMILY@X` or `lib:PATH` names on this machine.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::allocators {

// Where a native backend gets its malloc.
struct NativeLibrary {
  std::string preload;  // an absolute path; empty if libc serves malloc
  std::string family;   // see allocator_family
  std::string refusal;  // why it cannot be started, as the end of a sentence; empty if it can
};

// Whether `text` has one of those forms.
bool names_library(const std::string& text);

// The path that `text` names; empty if it names none.
std::string library_path(const std::string& text);

// Fails with kUsage for an invalid FAMILY@X: a file of another family, another libc. A missing or
// damaged library is a refusal, which fails only its own run.
base::Result<NativeLibrary> choose_library(const std::string& text);

}  // namespace heaptape::allocators
