#include "recorder/interposer/foreign_bytes.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/address/pages.h"
#include "recorder/interposer/attach.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {

size_t copy_foreign(uintptr_t address, void* copy, size_t bytes) {
  if (process.quiet.load(std::memory_order_relaxed)) return 0;
  const size_t in_page = base::kPageBytes - address % base::kPageBytes;
  const size_t first = bytes < in_page ? bytes : in_page;
  const iovec to{copy, bytes};
  // In two parts, because each is copied whole or not at all.
  const iovec from[] = {{reinterpret_cast<void*>(address), first},
                        {reinterpret_cast<void*>(address + first), bytes - first}};
  const long pid = raw_syscall(SYS_getpid);
  const long copied = raw_syscall(SYS_process_vm_readv, pid, as_long(&to), 1, as_long(from),
                                  first < bytes ? 2 : 1, 0);
  return copied < 0 ? 0 : static_cast<size_t>(copied);
}

// rt_sigprocmask(2) fails with EFAULT if it cannot read the set, and with EINVAL, because `how` is
// invalid, if it can. It ignores a null pointer.
bool is_page_readable(uintptr_t page) {
  constexpr int kNothing = -1;
  return page != 0 &&
         raw_syscall(SYS_rt_sigprocmask, kNothing, static_cast<long>(page), 0, 8) != -EFAULT;
}

}  // namespace heaptape::recorder
