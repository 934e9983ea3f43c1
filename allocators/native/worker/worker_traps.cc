#include "allocators/native/worker/worker_traps.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "allocators/native/worker/worker_clock.h"
#include "allocators/native/worker/worker_threads.h"

// long heaptape_unwatched(long number, long a, long b, long c, long d, long e, long f)
// The only place whose system calls the filter lets pass; the label is the instruction pointer that
// the kernel sees.
asm(R"(
  .text
  .globl heaptape_unwatched
  .hidden heaptape_unwatched
  .globl heaptape_unwatched_return
  .hidden heaptape_unwatched_return
  .type heaptape_unwatched, @function
heaptape_unwatched:
  .cfi_startproc
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
heaptape_unwatched_return:
  ret
  .cfi_endproc
  .size heaptape_unwatched, . - heaptape_unwatched
)");
extern "C" long heaptape_unwatched(long, long, long, long, long, long, long);
extern "C" const char heaptape_unwatched_return[];

namespace heaptape::allocators {
namespace {

pid_t pretended_tid = 0;
WorkerShared* log_target = nullptr;
const uint32_t* current_op_index = nullptr;

std::atomic<bool> log_is_taken{false};

void leave_log() {
  log_is_taken.store(false, std::memory_order_release);
}

void lock_log() {
  while (log_is_taken.exchange(true, std::memory_order_acquire)) sched_yield();
}

// While the backend reads the log, the allocator's own threads wait.
void enter_log() {
  constexpr timespec kNap{0, 100'000};
  for (;;) {
    lock_log();
    if (log_target->turn.load(std::memory_order_relaxed) != Turn::kBackend || plays_tape()) return;
    leave_log();
    heaptape_unwatched(SYS_nanosleep, reinterpret_cast<long>(&kNap), 0, 0, 0, 0, 0);
  }
}

// Answers queries made without libc from the tape: clocks, and the thread that the driver pretends
// to be. False for other calls.
bool answer_question(greg_t* registers) {
  timespec now = {};
  auto* const target = reinterpret_cast<void*>(registers[REG_RDI]);
  switch (registers[REG_RAX]) {
    case SYS_clock_gettime:
      registers[REG_RAX] = read_clock(static_cast<clockid_t>(registers[REG_RDI]),
                                      reinterpret_cast<timespec*>(registers[REG_RSI]));
      return true;
    case SYS_gettimeofday:
      read_clock(CLOCK_REALTIME, &now);
      if (target != nullptr) *static_cast<timeval*>(target) = {now.tv_sec, now.tv_nsec / 1000};
      registers[REG_RAX] = 0;
      return true;
    case SYS_time:
      read_clock(CLOCK_REALTIME, &now);
      if (target != nullptr) *static_cast<time_t*>(target) = now.tv_sec;
      registers[REG_RAX] = now.tv_sec;
      return true;
    case SYS_gettid:
      registers[REG_RAX] = pretended_tid != 0 && is_driver()
                               ? pretended_tid
                               : heaptape_unwatched(SYS_gettid, 0, 0, 0, 0, 0, 0);
      return true;
    case SYS_tgkill:
      // A thread that signals itself, as abort() does, means the one that runs.
      if (pretended_tid != 0 && registers[REG_RSI] == pretended_tid && is_driver()) {
        registers[REG_RSI] = heaptape_unwatched(SYS_gettid, 0, 0, 0, 0, 0, 0);
      }
      registers[REG_RAX] = heaptape_unwatched(SYS_tgkill, registers[REG_RDI], registers[REG_RSI],
                                              registers[REG_RDX], 0, 0, 0);
      return true;
    default:
      return false;
  }
}

// An allocator may give back any number of pieces in one call: the log has room for some, and for
// the rest it is enough to know that there were any.
bool leaves_untold(const greg_t* registers) {
  if (registers[REG_RAX] != SYS_madvise) return false;
  if (log_target->memory_calls < kMaxMemoryCalls / 4) return false;
  log_target->gave_back_untold = 1;
  return true;
}

void log_call(const greg_t* registers, long result) {
  if (log_target->memory_calls == kMaxMemoryCalls) {
    log_target->failure = WorkerFailure::kLogOverflow;
    return;
  }
  MemoryCall& call = log_target->calls[log_target->memory_calls++];
  call.op = *current_op_index;
  call.number = static_cast<uint32_t>(registers[REG_RAX]);
  const int argument_registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8};
  for (int i = 0; i < 5; ++i) {
    call.arguments[i] = static_cast<uint64_t>(registers[argument_registers[i]]);
  }
  call.result = static_cast<uint64_t>(result);
}

void on_trap(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (answer_question(registers)) return;
  enter_log();
  const long result = heaptape_unwatched(registers[REG_RAX], registers[REG_RDI], registers[REG_RSI],
                                         registers[REG_RDX], registers[REG_R10], registers[REG_R8],
                                         registers[REG_R9]);
  if (!leaves_untold(registers)) log_call(registers, result);
  leave_log();
  registers[REG_RAX] = result;
}

// Stops the calls with these numbers, except those from heaptape_unwatched.
template <size_t kCalls>
bool install_filter(const uint32_t (&numbers)[kCalls]) {
  const auto pass = reinterpret_cast<uint64_t>(heaptape_unwatched_return);
  constexpr auto field = [](size_t offset) { return static_cast<uint32_t>(offset); };
  constexpr uint32_t ip = field(offsetof(seccomp_data, instruction_pointer));
  constexpr size_t kBefore = 3;
  constexpr size_t kBehind = 6;
  sock_filter program[kBefore + kCalls + kBehind] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, field(offsetof(seccomp_data, arch))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, kCalls + 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, field(offsetof(seccomp_data, nr))),
  };
  // Jumps count instructions: (if equal, otherwise).
  sock_filter* next = program + kBefore;
  for (size_t i = 0; i < kCalls; ++i) {
    const auto to_check = static_cast<uint8_t>(kCalls - 1 - i);
    const uint8_t to_pass = i == kCalls - 1 ? 4 : 0;
    *next++ = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], to_check, to_pass);
  }
  const sock_filter behind[kBehind] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(pass), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(pass >> 32), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  for (const sock_filter& instruction : behind) *next++ = instruction;
  const sock_fprog filter{sizeof program / sizeof program[0], program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

bool watch_memory_calls(WorkerShared* shared, const uint32_t* current_op) {
  log_target = shared;
  current_op_index = current_op;
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigfillset(&action.sa_mask);  // a handler that maps memory must not interrupt a log in use
  sigdelset(&action.sa_mask, SIGSYS);
  constexpr uint32_t kWatched[] = {SYS_mmap,   SYS_munmap,        SYS_mremap,       SYS_mprotect,
                                   SYS_brk,    SYS_clock_gettime, SYS_gettimeofday, SYS_time,
                                   SYS_gettid, SYS_tgkill};
  return sigaction(SIGSYS, &action, nullptr) == 0 && install_filter(kWatched);
}

bool watch_madvise() {
  constexpr uint32_t kWatched[] = {SYS_madvise};
  return install_filter(kWatched);
}

void pretend_tid(pid_t tid) {
  pretended_tid = tid;
}

void give_turn_to_backend() {
  lock_log();
  log_target->turn.store(Turn::kBackend, std::memory_order_release);
  leave_log();
}

void* map_unwatched(uint64_t wish, uint64_t bytes, int protection) {
  const long base = unwatched_syscall(SYS_mmap, static_cast<long>(wish), static_cast<long>(bytes),
                                      protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  return base < 0 && base > -4096 ? nullptr : reinterpret_cast<void*>(base);
}

long unwatched_syscall(long number, long a, long b, long c, long d, long e, long f) {
  return heaptape_unwatched(number, a, b, c, d, e, f);
}

}  // namespace heaptape::allocators
