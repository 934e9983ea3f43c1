// This process's own environment, and those of the programs it executes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// This process's environment, even before libc has set `environ`. Never null.
char** environment();

// VALUE of the entry "NAME=VALUE"; null if there is none, or no environment.
char* find_variable(char* const* entries, const char* name);

// Removes our two variables (see below) from this process's environment, in place. Before any other
// thread runs.
void leave_environment();

// A copy of the entries with our two, HEAPTAPE_SESSION and our library in LD_PRELOAD, moved or
// removed. Libraries that others preload stay. The caller provides the memory:
//   RewrittenEnvironment rewritten(entries, Ours::kOut);
//   char** copy = rewritten.write(__builtin_alloca(rewritten.bytes()));
enum class Ours : uint8_t {
  kOut,    // neither is there
  kFirst,  // our library before all others: an allocator in front of it would bypass us
};
class RewrittenEnvironment {
 public:
  RewrittenEnvironment(char* const* entries, Ours ours);
  size_t bytes() const { return bytes_; }
  char** write(void* memory) const;

 private:
  char* write_preload(const char* preload, char* out) const;

  char* const* entries_;
  const Ours ours_;
  size_t bytes_;
};

}  // namespace heaptape::recorder
