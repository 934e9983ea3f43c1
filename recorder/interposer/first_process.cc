// When the first process of a pid namespace ends, as in a container, the kernel kills all others
// there: also the recorder that `heaptape exec` put beside it. So it waits for its tapes. Where the
// recorder is outside of the namespace, it is no process here.
#include <unistd.h>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/handshake_client.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr long kFirst = 1;

__attribute__((destructor)) void wait_for_tapes() {
  if (raw_syscall(SYS_getpid) != kFirst || process.recorder == 0 || process.quiet != 0) return;
  if (process.recording) finish_recording();
}

}  // namespace
}  // namespace heaptape::recorder
