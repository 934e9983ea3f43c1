// Functions by which a program maps memory itself. Calls that malloc makes are malloc's, and not
// recorded; those that the C library makes itself are not seen. The record is made outside of the
// call, so that a signal handler that interrupts the kernel does not seem to be malloc's.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/ring/raw_syscall.h"
#include "recorder/ring/session_layout.h"

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

namespace {

using heaptape::schema::MappingOp;

#define HEAPTAPE_CALLER __builtin_return_address(0)

constexpr int kDontUnmap = 4;  // MREMAP_DONTUNMAP, Linux 5.7; musl 1.2.3 does not name it

// As the C library does it, before the next functions are known: a look-up may come in the middle
// of the allocator's start.
template <typename Result = int>
Result system_call(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0) {
  const long result = raw_syscall(number, a, b, c, d, e, f);
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

void put(const Call& call) {
  record_mapping(call.op, reinterpret_cast<uint64_t>(call.address), call.bytes, call.detail,
                 call.caller);
}

// Calls from before the process joins the session, which its first call to malloc does: a run-time
// may map its heap first. They are recorded with the next one.
class EarlyCalls {
 public:
  void add(const Call& call) {
    const uint32_t index = count_.fetch_add(1, std::memory_order_relaxed);
    if (index >= kMost) return;
    calls_[index].call = call;
    calls_[index].is_there.store(true, std::memory_order_release);
  }
  // Without a call that another thread has only begun to add.
  void record() {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    count_.store(0, std::memory_order_relaxed);
    for (Slot& slot : calls_) {
      if (slot.is_there.exchange(false, std::memory_order_acquire)) put(slot.call);
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

void record(MappingOp op, const void* address, uint64_t bytes, uint64_t detail,
            const void* caller) {
  const Call call = {op, address, bytes, detail, caller};
  if (!process.recording.load(std::memory_order_relaxed)) {
    if (!is_allocator_prepared()) early_calls.add(call);
    return;
  }
  if (process.session.board().map_calls == MapCalls::kIgnored) return;
  const HookScope scope;
  if (scope.nested()) return;
  thread_local_state.hook |= kAccounted;  // no call to malloc is lost if a jump leaves this
  early_calls.record();
  put(call);
}

// A range that the kernel may accept.
bool is_plausible(const void* address, size_t bytes) {
  constexpr uintptr_t kPageBytes = 4096;
  constexpr uintptr_t kLimit = uintptr_t{1} << 56;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return begin % kPageBytes == 0 && bytes != 0 && begin < kLimit && bytes <= kLimit - begin;
}

void* map(void* address, size_t bytes, int protection, int flags, int file, off_t offset,
          const void* caller) {
  void* const block = are_next_functions_known()
                          ? next_functions().mmap(address, bytes, protection, flags, file, offset)
                          : system_call<void*>(SYS_mmap, as_long(address), static_cast<long>(bytes),
                                               protection, flags, file, offset);
  if (block != MAP_FAILED) {
    const uint64_t detail =
        uint64_t{static_cast<uint32_t>(flags)} << 32 | static_cast<uint32_t>(protection);
    record(MappingOp::kMap, block, bytes, detail, caller);
  }
  return block;
}

}  // namespace

HEAPTAPE_EXPORT void* mmap(void* address, size_t bytes, int protection, int flags, int file,
                           off_t offset) {
  return map(address, bytes, protection, flags, file, offset, HEAPTAPE_CALLER);
}

HEAPTAPE_EXPORT void* mmap64(void* address, size_t bytes, int protection, int flags, int file,
                             off64_t offset) {
  return map(address, bytes, protection, flags, file, offset, HEAPTAPE_CALLER);
}

// Recorded before the call: another thread may get the addresses at once.
HEAPTAPE_EXPORT int munmap(void* address, size_t bytes) {
  if (is_plausible(address, bytes)) {
    record(MappingOp::kUnmap, address, bytes, 0, HEAPTAPE_CALLER);
  }
  return are_next_functions_known()
             ? next_functions().munmap(address, bytes)
             : system_call(SYS_munmap, as_long(address), static_cast<long>(bytes), 0);
}

// If the memory may move, its old place is recorded as unmapped before the call, too; if it cannot,
// most such calls fail, and then there is nothing to record.
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
      are_next_functions_known()
          ? next_functions().mremap(address, bytes, new_bytes, flags, wanted)
          : system_call<void*>(SYS_mremap, as_long(address), static_cast<long>(bytes),
                               static_cast<long>(new_bytes), flags, as_long(wanted));
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
  const int result =
      are_next_functions_known()
          ? next_functions().mprotect(address, bytes, protection)
          : system_call(SYS_mprotect, as_long(address), static_cast<long>(bytes), protection);
  if (result == 0) {
    record(MappingOp::kProtect, address, bytes, static_cast<uint32_t>(protection), HEAPTAPE_CALLER);
  }
  return result;
}

HEAPTAPE_EXPORT int madvise(void* address, size_t bytes, int advice) {
  const int result = are_next_functions_known() ? next_functions().madvise(address, bytes, advice)
                                                : system_call(SYS_madvise, as_long(address),
                                                              static_cast<long>(bytes), advice);
  if (result == 0) {
    record(MappingOp::kAdvise, address, bytes, static_cast<uint32_t>(advice), HEAPTAPE_CALLER);
  }
  return result;
}

// The C library keeps the break: there is no other way to it than its functions.
HEAPTAPE_EXPORT void* sbrk(intptr_t increment) {
  void* const before = next_functions().sbrk(increment);
  if (increment == 0 || before == reinterpret_cast<void*>(-1)) return before;
  char* const end = static_cast<char*>(before) + increment;
  if (increment > 0) {
    record(MappingOp::kGrowBreak, before, static_cast<uint64_t>(increment), 0, HEAPTAPE_CALLER);
  } else {
    record(MappingOp::kShrinkBreak, end, -static_cast<uint64_t>(increment), 0, HEAPTAPE_CALLER);
  }
  return before;
}

HEAPTAPE_EXPORT int brk(void* end) {
  const auto before = reinterpret_cast<uintptr_t>(next_functions().sbrk(0));
  const int result = next_functions().brk(end);
  const auto after = reinterpret_cast<uintptr_t>(end);
  if (result != 0 || after == before) return result;
  if (after > before) {
    record(MappingOp::kGrowBreak, reinterpret_cast<void*>(before), after - before, 0,
           HEAPTAPE_CALLER);
  } else {
    record(MappingOp::kShrinkBreak, end, before - after, 0, HEAPTAPE_CALLER);
  }
  return result;
}
