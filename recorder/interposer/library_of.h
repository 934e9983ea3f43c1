// Which library a function is in.
#pragma once

#include <dlfcn.h>

namespace heaptape::recorder {

// Where the library with this function is loaded; null if unknown.
inline const void* library_of(const void* function) {
  Dl_info info{};
  return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}
template <typename Result, typename... Arguments>
const void* library_of(Result (*function)(Arguments...)) {
  return library_of(reinterpret_cast<const void*>(function));
}

}  // namespace heaptape::recorder
