// Why a program, or a part of one, goes on unrecorded. Free of the C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// docs/howto-record.md, "When it cannot work", explains each.
enum class Unrecorded : uint32_t {
  kNone = 0,
  kStatic = 1,             // no loader that could preload anything
  kOtherMachine = 2,       // not x86-64
  kOwnMalloc = 3,          // the program itself defines malloc
  kPrivileges = 4,         // setuid, setgid or capabilities: the loader drops LD_PRELOAD
  kForeignLoader = 5,      // neither glibc's loader nor musl's
  kSanitizer = 6,          // its run-time library must come first
  kLibraryOutOfReach = 7,  // the preload library cannot be opened in its root
  kSystemCallFilter = 8,   // a seccomp filter might not let it join
  kDeepBind = 9,           // a library opened with RTLD_DEEPBIND: its calls bypass the hooks
  kEnvironment = 10,       // executed without the session in its environment
  kNamespace = 11,         // a library opened by dlmopen, with a libc of its own
  kLibrary = 12,           // a C library, run for its version: it cannot resolve our imports
  kNetwork = 13,           // in another network namespace: the recorder's socket is out of reach
};
inline constexpr uint32_t kLastUnrecorded = 13;

}  // namespace heaptape::recorder
