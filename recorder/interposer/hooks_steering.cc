// Functions by which a program steers its allocator: recorded if the library that serves malloc is
// the one that obeys. mallopt and malloc_trim are interposed. Those that only one allocator has are
// not exported: a program that asks by a weak reference whether it runs on jemalloc would believe
// it. References to them are redirected instead, where that allocator serves malloc.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "recorder/interposer/entry_points.h"
#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/library_of.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/interposer/references.h"
#include "recorder/interposer/steering.h"

// Null where the program has none.
extern "C" {
__attribute__((weak)) int mallctl(const char*, void*, size_t*, void*, size_t);
__attribute__((weak)) void mi_collect(bool);
__attribute__((weak)) void MallocExtension_ReleaseFreeMemory();
}

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

namespace heaptape::recorder {
namespace {

using schema::SteeringOp;

// Null where the program has none.
int (*next_mallopt)(int, int) = nullptr;
int (*next_malloc_trim)(size_t) = nullptr;
bool mallopt_is_obeyed = false;
bool malloc_trim_is_obeyed = false;

// Those of the allocator that serves malloc; null where it has none: jemalloc(3), mimalloc.h,
// malloc_extension_c.h of gperftools.
struct OwnFunctions {
  int (*mallctl)(const char*, void*, size_t*, void*, size_t);
  int (*mallctlnametomib)(const char*, size_t*, size_t*);
  int (*mallctlbymib)(const size_t*, size_t, void*, size_t*, void*, size_t);
  void (*mi_collect)(bool);
  void (*mi_option_set)(int, long);
  void (*mi_option_enable)(int);
  void (*mi_option_disable)(int);
  void (*mi_option_set_enabled)(int, bool);
  void (*MallocExtension_ReleaseFreeMemory)();
  void (*MallocExtension_ReleaseToSystem)(size_t);
  int (*MallocExtension_SetNumericProperty)(const char*, size_t);
};
OwnFunctions own = {};

// Calls the allocator, and records the call where it is the program's and succeeded.
template <typename Call>
bool steer(SteeringOp op, int64_t first, int64_t second, Call call) {
  const HookScope scope;
  const bool is_done = call();
  if (scope.nested()) [[unlikely]] {
    count_nested_call();
  } else if (is_done) {
    record_steering(op, first, second);
  }
  return is_done;
}

// The kind of value that a recorded mallctl takes.
enum class Writes : uint8_t { kNothing, kMilliseconds, kBool };
struct Control {
  SteeringOp op;
  const char* name;  // with a 0 for the index, if it has one
  Writes writes;
};
constexpr Control kControls[] = {
    {SteeringOp::kArenaPurge, "arena.0.purge", Writes::kNothing},
    {SteeringOp::kArenaDecay, "arena.0.decay", Writes::kNothing},
    {SteeringOp::kArenaDirtyDecay, "arena.0.dirty_decay_ms", Writes::kMilliseconds},
    {SteeringOp::kArenaMuzzyDecay, "arena.0.muzzy_decay_ms", Writes::kMilliseconds},
    {SteeringOp::kDefaultDirtyDecay, "arenas.dirty_decay_ms", Writes::kMilliseconds},
    {SteeringOp::kDefaultMuzzyDecay, "arenas.muzzy_decay_ms", Writes::kMilliseconds},
    {SteeringOp::kFlushThreadCache, "thread.tcache.flush", Writes::kNothing},
    {SteeringOp::kEnableThreadCache, "thread.tcache.enabled", Writes::kBool},
    {SteeringOp::kBackgroundThread, "background_thread", Writes::kBool},
};
constexpr char kArena[] = "arena.";

constexpr bool has_index(const Control& control) {
  return control.name[sizeof kArena - 1] == '0';
}

// The index of a name like the control's; -1 if it is another.
int64_t index_in(const char* name, const Control& control) {
  if (!has_index(control)) return std::strcmp(name, control.name) == 0 ? 0 : -1;
  if (std::strncmp(name, kArena, sizeof kArena - 1) != 0) return -1;
  const char* at = name + sizeof kArena - 1;
  int64_t index = 0;
  for (; *at >= '0' && *at <= '9' && index <= UINT32_MAX; ++at) index = index * 10 + (*at - '0');
  return std::strcmp(at, control.name + sizeof kArena) == 0 ? index : -1;
}

// The same for a number of that name: "Management Information Base" of jemalloc(3).
int64_t index_in(const size_t* mib, size_t length, const Control& control) {
  constexpr size_t kMostParts = 8;
  size_t wanted[kMostParts];
  size_t parts = kMostParts;
  if (own.mallctlnametomib(control.name, wanted, &parts) != 0 || parts != length) return -1;
  for (size_t i = 0; i < parts; ++i) {
    if (mib[i] != wanted[i] && !(i == 1 && has_index(control))) return -1;
  }
  return has_index(control) ? static_cast<int64_t>(mib[1]) : 0;
}

// The index of all arenas, where that is given as their number: redis does so, and jemalloc 5 takes
// it as deprecated (ctl.c, arenas_i).
int64_t all_or_one(int64_t index) {
  constexpr int64_t kAll = 4096;  // MALLCTL_ARENAS_ALL
  unsigned arenas = 0;
  size_t bytes = sizeof arenas;
  const bool is_known = own.mallctl("arenas.narenas", &arenas, &bytes, nullptr, 0) == 0;
  return is_known && index == arenas ? kAll : index;
}

void record_control(const Control& control, int64_t index, const void* value, size_t bytes) {
  int64_t written = 0;
  if (control.writes == Writes::kMilliseconds) {
    if (value == nullptr || bytes != sizeof(ssize_t)) return;
    written = *static_cast<const ssize_t*>(value);
  } else if (control.writes == Writes::kBool) {
    if (value == nullptr || bytes != sizeof(bool)) return;
    written = *static_cast<const bool*>(value) ? 1 : 0;
  }
  if (has_index(control)) {
    record_steering(control.op, all_or_one(index), written);
  } else {
    record_steering(control.op, written, 0);
  }
}

// `find` gives the index of a control, or -1.
template <typename Call, typename Find>
int hooked_mallctl(const void* value, size_t bytes, Call call, Find find) {
  const HookScope scope;
  const int result = call();
  if (scope.nested()) [[unlikely]]
    count_nested_call();
  if (result != 0 || scope.nested()) return result;
  for (const Control& control : kControls) {
    const int64_t index = find(control);
    if (index < 0) continue;
    record_control(control, index, value, bytes);
    break;
  }
  return result;
}

int hook_mallctl(const char* name, void* old_value, size_t* old_bytes, void* value, size_t bytes) {
  return hooked_mallctl(
      value, bytes, [&] { return own.mallctl(name, old_value, old_bytes, value, bytes); },
      [name](const Control& control) { return index_in(name, control); });
}

int hook_mallctlbymib(const size_t* mib, size_t length, void* old_value, size_t* old_bytes,
                      void* value, size_t bytes) {
  return hooked_mallctl(
      value, bytes,
      [&] { return own.mallctlbymib(mib, length, old_value, old_bytes, value, bytes); },
      [&](const Control& control) {
        // Most calls read statistics: they write nothing.
        const bool may_be = control.writes == Writes::kNothing ? old_value == nullptr : bytes != 0;
        return may_be ? index_in(mib, length, control) : -1;
      });
}

void hook_mi_collect(bool force) {
  steer(SteeringOp::kMimallocCollect, force ? 1 : 0, 0,
        [=] { return own.mi_collect(force), true; });
}

void set_option(int option, long value, void (*set)(int, long)) {
  steer(SteeringOp::kMimallocOption, option, value, [=] { return set(option, value), true; });
}
void hook_mi_option_set(int option, long value) {
  set_option(option, value, own.mi_option_set);
}
void hook_mi_option_enable(int option) {
  set_option(option, 1, [](int which, long) { own.mi_option_enable(which); });
}
void hook_mi_option_disable(int option) {
  set_option(option, 0, [](int which, long) { own.mi_option_disable(which); });
}
void hook_mi_option_set_enabled(int option, bool enabled) {
  set_option(option, enabled ? 1 : 0,
             [](int which, long on) { own.mi_option_set_enabled(which, on != 0); });
}

void hook_MallocExtension_ReleaseFreeMemory() {
  steer(SteeringOp::kReleaseFreeMemory, 0, 0,
        [] { return own.MallocExtension_ReleaseFreeMemory(), true; });
}
void hook_MallocExtension_ReleaseToSystem(size_t bytes) {
  steer(SteeringOp::kReleaseToSystem, static_cast<int64_t>(bytes), 0,
        [=] { return own.MallocExtension_ReleaseToSystem(bytes), true; });
}
int hook_MallocExtension_SetNumericProperty(const char* name, size_t value) {
  const auto call = [=] { return own.MallocExtension_SetNumericProperty(name, value) != 0; };
  if (std::strcmp(name, schema::steering_info(SteeringOp::kThreadCacheBytes).name) != 0) {
    return call() ? 1 : 0;
  }
  return steer(SteeringOp::kThreadCacheBytes, static_cast<int64_t>(value), 0, call) ? 1 : 0;
}

// Finds the function that the program would call. True if it is of that library.
template <typename Function>
bool find_next(Function& function, const char* name, const void* library) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  return library_of(function) == library;
}

// A look-up that fails leaves a message in dlerror(): only names that the library has are looked
// up.
void redirect_own_functions(const void* library) {
  const bool may_be_jemalloc = &mallctl != nullptr;
  const bool may_be_mimalloc = &mi_collect != nullptr;
  const bool may_be_tcmalloc = &MallocExtension_ReleaseFreeMemory != nullptr;
  if (!may_be_jemalloc && !may_be_mimalloc && !may_be_tcmalloc) return;
  constexpr size_t kMost = 16;
  Redirection redirections[kMost];
  size_t count = 0;
  const auto find = [&](auto& function, const char* name) {
    void* const found = function_in(library, name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    return found;
  };
  const auto redirect = [&](auto& function, const char* name, auto* hook) {
    const void* const found = find(function, name);
    if (found == nullptr) return;
    const void* const meant = dlsym(RTLD_DEFAULT, name);
    const bool is_first = meant == found || is_entry_of_fixed_program(name, meant);
    redirections[count++] = {name, reinterpret_cast<const void*>(hook), found, is_first};
  };
#define HEAPTAPE_REDIRECT(name) redirect(own.name, #name, hook_##name)
  if (may_be_jemalloc && find(own.mallctlnametomib, "mallctlnametomib") != nullptr) {
    HEAPTAPE_REDIRECT(mallctl);
    HEAPTAPE_REDIRECT(mallctlbymib);
  }
  if (may_be_mimalloc) {
    HEAPTAPE_REDIRECT(mi_collect);
    HEAPTAPE_REDIRECT(mi_option_set);
    HEAPTAPE_REDIRECT(mi_option_enable);
    HEAPTAPE_REDIRECT(mi_option_disable);
    HEAPTAPE_REDIRECT(mi_option_set_enabled);
  }
  if (may_be_tcmalloc) {
    HEAPTAPE_REDIRECT(MallocExtension_ReleaseFreeMemory);
    HEAPTAPE_REDIRECT(MallocExtension_ReleaseToSystem);
    HEAPTAPE_REDIRECT(MallocExtension_SetNumericProperty);
  }
#undef HEAPTAPE_REDIRECT
  if (count != 0) redirect_references(redirections, count, library);
}

}  // namespace

void find_steering_functions(const void* malloc_function) {
  const ArenaScope ours;  // dlsym may allocate
  const void* const library = library_of(malloc_function);
  if (is_glibc()) {  // musl has neither
    // Others have functions of these names, too, that do nothing.
    const bool is_libc = library_of(&getauxval) == library;
    mallopt_is_obeyed = find_next(next_mallopt, "mallopt", library) && is_libc;
    malloc_trim_is_obeyed = find_next(next_malloc_trim, "malloc_trim", library) && is_libc;
  }
  if (process.recording.load(std::memory_order_relaxed)) redirect_own_functions(library);
}

}  // namespace heaptape::recorder

HEAPTAPE_EXPORT int mallopt(int parameter, int value) {
  prepare_allocator();
  if (next_mallopt == nullptr) return 0;
  const auto call = [=] { return next_mallopt(parameter, value) != 0; };
  if (!mallopt_is_obeyed) return call() ? 1 : 0;
  return steer(SteeringOp::kMallopt, parameter, value, call) ? 1 : 0;
}

HEAPTAPE_EXPORT int malloc_trim(size_t pad) {
  prepare_allocator();
  if (next_malloc_trim == nullptr) return 0;
  int result = 0;
  const auto call = [&] {
    result = next_malloc_trim(pad);
    return true;
  };
  if (malloc_trim_is_obeyed) {
    steer(SteeringOp::kMallocTrim, static_cast<int64_t>(pad), 0, call);
  } else {
    call();
  }
  return result;
}
