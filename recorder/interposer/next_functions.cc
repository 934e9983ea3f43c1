#include "recorder/interposer/next_functions.h"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>

#include "recorder/interposer/hook_scope.h"

extern "C" __attribute__((weak)) const char* gnu_get_libc_version();

namespace heaptape::recorder {
namespace {

NextFunctions functions = {};
std::atomic<bool> is_known{false};

template <typename Function>
void find_next(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

bool is_glibc() {
  return &gnu_get_libc_version != nullptr;
}

bool are_next_functions_known() {
  return is_known.load(std::memory_order_acquire);
}

// Concurrent threads find, and write, the same values.
const NextFunctions& next_functions() {
  if (is_known.load(std::memory_order_acquire)) return functions;
  const HookScope scope;  // dlsym's allocations are ours
  const int saved_errno = errno;
#define HEAPTAPE_FIND(symbol, result, parameters) find_next(functions.symbol, #symbol);
  HEAPTAPE_FORWARDED_FUNCTIONS(HEAPTAPE_FIND)
#undef HEAPTAPE_FIND
  // musl has none, and a look-up would leave the program a message in dlerror().
  if (is_glibc()) find_next(functions.dlmopen, "dlmopen");
  errno = saved_errno;
  is_known.store(true, std::memory_order_release);
  return functions;
}

}  // namespace heaptape::recorder
