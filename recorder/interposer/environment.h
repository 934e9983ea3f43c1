// The environment: this process's own, and those that it hands to the programs it executes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// The environment of this process, also before libc has set `environ`. Never null.
char** environment();

// Of the entry "NAME=VALUE", VALUE; null: there is none, or no environment.
char* find_variable(char* const* entries, const char* name);

// Takes our two variables (see below) out of this process's environment, in place. Before any other
// thread runs.
void leave_environment();

// The entries with another place for our two, HEAPTAPE_SESSION and our library in LD_PRELOAD, where
// what others preloaded stays. The caller provides the memory:
//   RewrittenEnvironment rewritten(entries, Ours::kOut);
//   char** copy = rewritten.write(__builtin_alloca(rewritten.bytes()));
enum class Ours : uint8_t {
  kOut,    // neither is there
  kFirst,  // our library comes before all others: an allocator in front of it would pass us by
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
