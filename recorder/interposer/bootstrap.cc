// Finds the program's own allocator, and serves the calls made meanwhile: dlsym may allocate, and
// some allocators allocate while they initialize.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/entry_points.h"
#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/interposer/steering.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// Bump allocation with the size in front of each block. 64 KiB is some hundred times the demand of
// glibc's dlsym, jemalloc, mimalloc or tcmalloc.
constexpr size_t kArenaHeader = 16;
std::atomic<size_t> arena_used{0};

enum class Stage : int { kUnresolved, kResolving, kResolved };
std::atomic<Stage> stage{Stage::kUnresolved};

// musl has no pvalloc, and a failed look-up leaves the program a message in dlerror().
bool may_exist(const char* name) {
  return is_glibc() || std::strcmp(name, "pvalloc") != 0;
}

template <typename Function>
void find_next(Function& function, const char* name) {
  void* const found = may_exist(name) ? dlsym(RTLD_NEXT, name) : nullptr;
  if (found != nullptr) function = reinterpret_cast<Function>(found);
}

void find_operators();

// Whether the calling thread is looking them up.
constinit thread_local bool resolves __attribute__((tls_model("initial-exec"))) = false;

// Waits for another thread to find them: with musl, two threads may exist before the first call.
// Not forever: that thread may wait for the loader, and this one may be in it.
bool wait_until_resolved() {
  constexpr int kNaps = 10 * kPatienceMs;
  for (int i = 0; i < kNaps && stage.load() != Stage::kResolved; ++i) nap_ms();
  return stage.load() == Stage::kResolved;
}

// While it lives, no signal handler runs in this thread: one that leaves by a jump would leave the
// look-up half done for good.
class SignalsHeldBack {
 public:
  SignalsHeldBack() { set_blocked_signals(~uint64_t{0}, &before_); }
  ~SignalsHeldBack() { set_blocked_signals(before_, nullptr); }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  uint64_t before_ = 0;
};

// True once the real functions can be called. False while this thread looks them up: the caller
// then uses the arena.
bool resolve() {
  if (stage.load() == Stage::kResolved) return true;
  const SignalsHeldBack no_jump;
  Stage expected = Stage::kUnresolved;
  if (!stage.compare_exchange_strong(expected, Stage::kResolving)) {
    return expected == Stage::kResolved || (!resolves && wait_until_resolved());
  }
  resolves = true;
  const HookScope scope;
  const int saved_errno = errno;
  RealMalloc found = real_malloc;
#define HEAPTAPE_FIND(symbol, result, parameters) find_next(found.symbol, #symbol);
  HEAPTAPE_MALLOC_ENTRY_POINTS(HEAPTAPE_FIND)
#undef HEAPTAPE_FIND
  find_operators();
  next_functions();
  attach_process(reinterpret_cast<const void*>(found.malloc));
  find_steering_functions(reinterpret_cast<const void*>(found.malloc));
  real_malloc = found;
  stage.store(Stage::kResolved);
  resolves = false;
  errno = saved_errno;
  return true;
}

// The table's target until the real functions are known, and for good if the program's allocator
// lacks one.
#define HEAPTAPE_REAL_OR(symbol, call, otherwise) \
  (resolve() && real_malloc.symbol != bootstrap_##symbol ? real_malloc.symbol call : otherwise)

void* bootstrap_malloc(size_t size) {
  return HEAPTAPE_REAL_OR(malloc, (size), arena_allocate(16, size));
}
void* bootstrap_calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return HEAPTAPE_REAL_OR(calloc, (count, size), arena_allocate(16, bytes));
}
void* bootstrap_realloc(void* old, size_t size) {
  return HEAPTAPE_REAL_OR(realloc, (old, size),
                          old == nullptr ? arena_allocate(16, size) : nullptr);
}
void* bootstrap_reallocarray(void* old, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return HEAPTAPE_REAL_OR(reallocarray, (old, count, size), real_malloc.realloc(old, bytes));
}
void bootstrap_free(void* block) {
  if (resolve() && real_malloc.free != bootstrap_free) real_malloc.free(block);
}
void* bootstrap_aligned_alloc(size_t alignment, size_t size) {
  return HEAPTAPE_REAL_OR(aligned_alloc, (alignment, size), arena_allocate(alignment, size));
}
int bootstrap_posix_memalign(void** block, size_t alignment, size_t size) {
  if (resolve() && real_malloc.posix_memalign != bootstrap_posix_memalign) {
    return real_malloc.posix_memalign(block, alignment, size);
  }
  void* allocated = arena_allocate(alignment, size);
  if (allocated == nullptr) return ENOMEM;
  *block = allocated;
  return 0;
}
void* bootstrap_memalign(size_t alignment, size_t size) {
  return HEAPTAPE_REAL_OR(memalign, (alignment, size), arena_allocate(alignment, size));
}
void* bootstrap_valloc(size_t size) {
  return HEAPTAPE_REAL_OR(valloc, (size), arena_allocate(4096, size));
}
// If libc has none, it is built from the others.
void* bootstrap_pvalloc(size_t size) {
  return HEAPTAPE_REAL_OR(pvalloc, (size), arena_allocate(4096, size));
}

// Stand-ins for the operators of a C++ library that dlopen loads later. They call malloc and free,
// as all known operators do. The real ones are not looked up at the first call: a look-up waits for
// the loader, which may be waiting for this very thread. They are looked up only when an allocation
// fails, to fail as they do, with handler and exception.
void* find_late_operator(const char* name) {
  const HookScope scope;
  const ArenaScope arena_scope;
  for (const char* library : {"libstdc++.so.6", "libc++.so.1"}) {
    if (void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) {
      void* found = dlsym(handle, name);
      dlclose(handle);
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

template <typename Function, typename... Arguments>
void* fail_like(const char* name, Arguments... arguments) {
  void* found = find_late_operator(name);
  return found != nullptr ? reinterpret_cast<Function>(found)(arguments...) : nullptr;
}

void* late_new(size_t size) {
  void* block = real_malloc.malloc(size != 0 ? size : 1);
  return block != nullptr ? block : fail_like<NewPlain>("_Znwm", size);
}
void* late_new_nothrow(size_t size, const void* nothrow) {
  void* block = real_malloc.malloc(size != 0 ? size : 1);
  return block != nullptr ? block : fail_like<NewNothrow>("_ZnwmRKSt9nothrow_t", size, nothrow);
}
void* late_new_aligned(size_t size, size_t alignment) {
  void* block = real_malloc.memalign(alignment, size != 0 ? size : 1);
  return block != nullptr ? block : fail_like<NewAligned>("_ZnwmSt11align_val_t", size, alignment);
}
void* late_new_aligned_nothrow(size_t size, size_t alignment, const void* nothrow) {
  void* block = real_malloc.memalign(alignment, size != 0 ? size : 1);
  return block != nullptr ? block
                          : fail_like<NewAlignedNothrow>("_ZnwmSt11align_val_tRKSt9nothrow_t", size,
                                                         alignment, nothrow);
}
void late_delete(void* block) {
  real_malloc.free(block);
}
void late_delete_sized(void* block, size_t) {
  real_malloc.free(block);
}
void late_delete_nothrow(void* block, const void*) {
  real_malloc.free(block);
}
void late_delete_sized_aligned(void* block, size_t, size_t) {
  real_malloc.free(block);
}
void late_delete_sized_nothrow(void* block, size_t, const void*) {
  real_malloc.free(block);
}

// By shape, for the macros below.
constexpr NewPlain kLateNewPlain = late_new;
constexpr NewNothrow kLateNewNothrow = late_new_nothrow;
constexpr NewAligned kLateNewAligned = late_new_aligned;
constexpr NewAlignedNothrow kLateNewAlignedNothrow = late_new_aligned_nothrow;
constexpr DeletePlain kLateDeletePlain = late_delete;
constexpr DeleteSized kLateDeleteSized = late_delete_sized;
constexpr DeleteNothrow kLateDeleteNothrow = late_delete_nothrow;
constexpr DeleteSizedAligned kLateDeleteSizedAligned = late_delete_sized_aligned;
constexpr DeleteSizedNothrow kLateDeleteSizedNothrow = late_delete_sized_nothrow;

// Null in a program without a C++ run-time library. A weak symbol rather than a dlsym: a failed
// dlsym leaves the program a message that only dlerror() clears, and dlerror() takes the locale
// lock, which the hook's caller may hold (setlocale does).
extern "C" __attribute__((weak, visibility("default"))) const char cxx_throw __asm__("__cxa_throw");

// Part of resolve(), which precedes any code of the program: a C++ program's first allocation is
// made by libstdc++ itself.
void find_operators() {
  if (&cxx_throw == nullptr) return;
#define HEAPTAPE_FIND(symbol, op, shape) find_next(real_operators.symbol, #symbol);
  HEAPTAPE_NEW_ENTRY_POINTS(HEAPTAPE_FIND)
  HEAPTAPE_DELETE_ENTRY_POINTS(HEAPTAPE_FIND)
#undef HEAPTAPE_FIND
}

}  // namespace

bool is_allocator_prepared() {
  return stage.load(std::memory_order_relaxed) == Stage::kResolved;
}

void prepare_allocator() {
  resolve();
}

alignas(4096) char arena[kArenaBytes];

RealMalloc real_malloc = {
#define HEAPTAPE_INITIAL(symbol, result, parameters) bootstrap_##symbol,
    HEAPTAPE_MALLOC_ENTRY_POINTS(HEAPTAPE_INITIAL)
#undef HEAPTAPE_INITIAL
};

RealOperators real_operators = {
#define HEAPTAPE_INITIAL(symbol, op, shape) kLateNew##shape,
    HEAPTAPE_NEW_ENTRY_POINTS(HEAPTAPE_INITIAL)
#undef HEAPTAPE_INITIAL
#define HEAPTAPE_INITIAL(symbol, op, shape) kLateDelete##shape,
        HEAPTAPE_DELETE_ENTRY_POINTS(HEAPTAPE_INITIAL)
#undef HEAPTAPE_INITIAL
};

void* arena_allocate(size_t alignment, size_t size) {
  if (alignment < 16) alignment = 16;
  if (size > kArenaBytes || alignment > 4096) {
    errno = ENOMEM;
    return nullptr;
  }
  const size_t room = (size + kArenaHeader + alignment + 15) & ~size_t{15};
  const size_t at = arena_used.fetch_add(room);
  if (at + room > kArenaBytes) {
    errno = ENOMEM;
    return nullptr;
  }
  count_bootstrap_call();
  const auto begin = reinterpret_cast<uintptr_t>(arena + at) + kArenaHeader;
  char* block = reinterpret_cast<char*>((begin + alignment - 1) & ~(alignment - 1));
  std::memcpy(block - kArenaHeader, &size, sizeof size);
  return block;  // static memory: zero
}

size_t arena_block_size(const void* block) {
  size_t size;
  std::memcpy(&size, static_cast<const char*>(block) - kArenaHeader, sizeof size);
  return size;
}

}  // namespace heaptape::recorder
