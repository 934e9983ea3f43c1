// Functions by which a program maps memory itself. Calls made by malloc are not recorded: their
// memory is malloc's. Those made by the C library do not come here. The hook is left before the
// call, so that a signal handler that interrupts it does not seem to be called by malloc.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <type_traits>

#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/ring/raw_syscall.h"
#include "recorder/ring/session_layout.h"

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

namespace {

using heaptape::schema::MappingOp;

// The caller of an exported function.
struct Caller {
  const void* address;  // to which it returns
  uintptr_t frame;      // of the function
};
#define HEAPTAPE_CALLER (Caller{__builtin_return_address(0), HEAPTAPE_FRAME})

constexpr int kDontUnmap = 4;  // MREMAP_DONTUNMAP, Linux 5.7; musl 1.2.3 does not name it

template <typename Value>
long to_long(Value value) {
  if constexpr (std::is_pointer_v<Value>) {
    return as_long(value);
  } else {
    return static_cast<long>(value);
  }
}

// Calls the next function. Before that is known, does as the C library does: a look-up may come in
// the middle of the allocator's start.
template <typename Result, typename... Arguments>
Result forward(Result (*NextFunctions::*function)(Arguments...), long number,
               std::type_identity_t<Arguments>... arguments) {
  if (are_next_functions_known()) return (next_functions().*function)(arguments...);
  const long result = raw_syscall(number, to_long(arguments)...);
  const bool has_failed = static_cast<unsigned long>(result) > -4096UL;
  if (has_failed) errno = static_cast<int>(-result);
  return (Result)(has_failed ? -1L : result);  // NOLINT: an address or a number
}

struct Call {
  MappingOp op;
  const void* address;
  uint64_t bytes;
  uint64_t detail;
  const void* caller;
};

void put(const Call& call, uint32_t stack) {
  record_mapping(call.op, reinterpret_cast<uint64_t>(call.address), call.bytes, call.detail,
                 call.caller, stack);
}

// Calls from before the process joins the session, with its first call to malloc: a run-time may
// map its heap first. They are recorded before the next one.
class EarlyCalls {
 public:
  void add(const Call& call) {
    const uint32_t index = count_.fetch_add(1, std::memory_order_relaxed);
    if (index >= kMost) return;
    calls_[index].call = call;
    calls_[index].is_there.store(true, std::memory_order_release);
  }
  // Omits a call that another thread is still adding.
  void record() {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    count_.store(0, std::memory_order_relaxed);
    for (Slot& slot : calls_) {
      if (slot.is_there.exchange(false, std::memory_order_acquire)) put(slot.call, 0);
    }
  }

 private:
  static constexpr uint32_t kMost = 64;

  struct Slot {
    std::atomic<bool> is_there{false};
    Call call = {};
  };
  std::atomic<uint32_t> count_{0};
  Slot calls_[kMost];
};
EarlyCalls early_calls;

// An allocator with an operator new of its own maps memory in it, under no hook of malloc.
bool is_in_operator_new(uintptr_t frame) {
  const NewHint& hint = thread_local_state.hint;
  return hint.pending && frame < hint.frame;
}

// Only memory that is mapped has a stack: others are many where a run-time protects its pages.
void record(MappingOp op, const void* address, uint64_t bytes, uint64_t detail, Caller caller) {
  const Call call = {op, address, bytes, detail, caller.address};
  if (!process.recording.load(std::memory_order_relaxed)) {
    if (!is_allocator_prepared()) early_calls.add(call);
    return;
  }
  if (!is_recording() || process.session.board().map_calls == MapCalls::kIgnored) return;
  const HookScope scope;
  if (scope.nested() || is_in_operator_new(caller.frame)) return;
  thread_local_state.hook |= kAccounted;  // a jump out of here loses no call to malloc
  early_calls.record();
  const bool maps = op == MappingOp::kMap || op == MappingOp::kGrowBreak;
  put(call, maps ? log_stack_of_mapping(caller.frame) : 0);
}

// A range that the kernel may accept.
bool is_plausible(const void* address, size_t bytes) {
  constexpr uintptr_t kPageBytes = 4096;
  constexpr uintptr_t kLimit = uintptr_t{1} << 56;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return begin % kPageBytes == 0 && bytes != 0 && begin < kLimit && bytes <= kLimit - begin;
}

void record_break(const void* before, const void* after, Caller caller) {
  const auto from = reinterpret_cast<uint64_t>(before);
  const auto to = reinterpret_cast<uint64_t>(after);
  if (to > from) record(MappingOp::kGrowBreak, before, to - from, 0, caller);
  if (to < from) record(MappingOp::kShrinkBreak, after, from - to, 0, caller);
}

}  // namespace

HEAPTAPE_EXPORT void* mmap(void* address, size_t bytes, int protection, int flags, int file,
                           off_t offset) {
  void* const block =
      forward(&NextFunctions::mmap, SYS_mmap, address, bytes, protection, flags, file, offset);
  if (block != MAP_FAILED) {
    const uint64_t detail =
        uint64_t{static_cast<uint32_t>(flags)} << 32 | static_cast<uint32_t>(protection);
    record(MappingOp::kMap, block, bytes, detail, HEAPTAPE_CALLER);
  }
  return block;
}

// The same where off_t has 64 bits.
HEAPTAPE_EXPORT __attribute__((alias("mmap"))) void* mmap64(void*, size_t, int, int, int, off64_t);

// Recorded before the call: another thread may get the addresses at once.
HEAPTAPE_EXPORT int munmap(void* address, size_t bytes) {
  if (is_plausible(address, bytes)) {
    record(MappingOp::kUnmap, address, bytes, 0, HEAPTAPE_CALLER);
  }
  return forward(&NextFunctions::munmap, SYS_munmap, address, bytes);
}

// If the memory may move, its old place is recorded as unmapped before the call. If it may not,
// most calls fail, and nothing is recorded.
HEAPTAPE_EXPORT void* mremap(void* address, size_t bytes, size_t new_bytes, int flags, ...) {
  void* wanted = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list rest;
    va_start(rest, flags);
    wanted = va_arg(rest, void*);
    va_end(rest);
  }
  const bool leaves =
      (flags & MREMAP_MAYMOVE) != 0 && (flags & kDontUnmap) == 0 && is_plausible(address, bytes);
  if (leaves) record(MappingOp::kUnmap, address, bytes, 0, HEAPTAPE_CALLER);
  void* const block =
      forward(&NextFunctions::mremap, SYS_mremap, address, bytes, new_bytes, flags, wanted);
  if (block != MAP_FAILED) {
    char* const end = static_cast<char*>(block) + new_bytes;
    if (!leaves && block == address && new_bytes < bytes) {
      record(MappingOp::kUnmap, end, bytes - new_bytes, 0, HEAPTAPE_CALLER);
    } else {
      record(MappingOp::kMap, block, new_bytes, 0, HEAPTAPE_CALLER);
    }
  } else if (leaves) {
    record(MappingOp::kMap, address, bytes, 0, HEAPTAPE_CALLER);
  }
  return block;
}

HEAPTAPE_EXPORT int mprotect(void* address, size_t bytes, int protection) {
  const int result = forward(&NextFunctions::mprotect, SYS_mprotect, address, bytes, protection);
  if (result == 0) {
    record(MappingOp::kProtect, address, bytes, static_cast<uint32_t>(protection), HEAPTAPE_CALLER);
  }
  return result;
}

HEAPTAPE_EXPORT int madvise(void* address, size_t bytes, int advice) {
  const int result = forward(&NextFunctions::madvise, SYS_madvise, address, bytes, advice);
  if (result == 0) {
    record(MappingOp::kAdvise, address, bytes, static_cast<uint32_t>(advice), HEAPTAPE_CALLER);
  }
  return result;
}

// The C library keeps the break: there is no other way to it than its functions.
HEAPTAPE_EXPORT void* sbrk(intptr_t increment) {
  void* const before = next_functions().sbrk(increment);
  if (before != reinterpret_cast<void*>(-1)) {
    record_break(before, static_cast<char*>(before) + increment, HEAPTAPE_CALLER);
  }
  return before;
}

HEAPTAPE_EXPORT int brk(void* end) {
  const void* const before = next_functions().sbrk(0);
  const int result = next_functions().brk(end);
  if (result == 0) record_break(before, end, HEAPTAPE_CALLER);
  return result;
}
