// Functions by which a program maps memory itself. Calls that malloc makes are malloc's, and not
// recorded; those of the C library's own are not seen. The record is made outside of the call, so
// that a signal handler that interrupts the kernel does not seem to be malloc's.
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
    if (index < kMost) calls_[index] = call;
  }
  void record() {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    const uint32_t count = count_.exchange(0, std::memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < kMost; ++i) put(calls_[i]);
  }

 private:
  static constexpr uint32_t kMost = 64;

  std::atomic<uint32_t> count_{0};
  Call calls_[kMost] = {};
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
  early_calls.record();
  put(call);
}

bool is_page_start(const void* address) {
  constexpr uintptr_t kPageBytes = 4096;
  return reinterpret_cast<uintptr_t>(address) % kPageBytes == 0;
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

// Recorded before the call: another thread may get the addresses at once. A call that the kernel
// refuses for its arguments gives nothing back.
HEAPTAPE_EXPORT int munmap(void* address, size_t bytes) {
  if (is_page_start(address) && bytes != 0) {
    record(MappingOp::kUnmap, address, bytes, 0, HEAPTAPE_CALLER);
  }
  return are_next_functions_known()
             ? next_functions().munmap(address, bytes)
             : system_call(SYS_munmap, as_long(address), static_cast<long>(bytes), 0);
}

HEAPTAPE_EXPORT void* mremap(void* address, size_t bytes, size_t new_bytes, int flags, ...) {
  void* wanted = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list rest;
    va_start(rest, flags);
    wanted = va_arg(rest, void*);
    va_end(rest);
  }
  record(MappingOp::kUnmap, address, bytes, 0, HEAPTAPE_CALLER);
  void* const block =
      are_next_functions_known()
          ? next_functions().mremap(address, bytes, new_bytes, flags, wanted)
          : system_call<void*>(SYS_mremap, as_long(address), static_cast<long>(bytes),
                               static_cast<long>(new_bytes), flags, as_long(wanted));
  // One that fails leaves everything where it was.
  const bool has_failed = block == MAP_FAILED;
  record(MappingOp::kMap, has_failed ? address : block, has_failed ? bytes : new_bytes, 0,
         HEAPTAPE_CALLER);
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
