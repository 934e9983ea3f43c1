// The environment: this process's own, and those that it hands to the programs it executes.
#pragma once

#include <cstddef>

namespace heaptape::recorder {

// The environment of this process, also before libc has set `environ`. Never null.
char** environment();

// Of the entry "NAME=VALUE", VALUE; null: there is none, or no environment.
char* find_variable(char* const* entries, const char* name);

// Takes our two variables (see below) out of this process's environment, in place. Before any other
// thread runs.
void leave_environment();

// The entries without our two: HEAPTAPE_SESSION, and our library in LD_PRELOAD, where what others
// preloaded stays. The caller provides the memory:
//   StrippedEnvironment stripped(entries);
//   char** copy = stripped.write(__builtin_alloca(stripped.bytes()));
class StrippedEnvironment {
 public:
  explicit StrippedEnvironment(char* const* entries);
  size_t bytes() const { return bytes_; }
  char** write(void* memory) const;

 private:
  char* const* entries_;
  size_t bytes_;
};

}  // namespace heaptape::recorder
