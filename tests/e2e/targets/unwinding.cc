// Asks for blocks from stacks of all kinds, and says of each what libgcc's unwinder makes of it, so
// that a test can compare: "SIZE ADDRESS ADDRESS ..." in a line each, from the function that called
// ask() on. The shape is named on the command line.
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <string>
#include <thread>

#define APART __attribute__((noinline, noclone))

namespace {

constexpr int kMostFrames = 300;

void keep(const void* block) {
  asm volatile("" : : "r"(block) : "memory");
}

APART void ask(size_t size) {
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  void* const block = malloc(size);
  keep(block);
  free(block);
  printf("%zu", size);
  for (int i = 1; i < count; ++i) printf(" %zx", reinterpret_cast<size_t>(frames[i]));
  printf("\n");
}

// The same where the unwinder cannot be asked.
extern "C" __attribute__((used)) APART void ask_quietly(size_t size) {
  void* const block = malloc(size);
  keep(block);
  free(block);
}

// Frames of unlike sizes, and of one that is known only at run time.
template <int kWords>
APART void ask_deeper(size_t size, int depth) {
  volatile char room[kWords * 8];
  room[0] = static_cast<char>(depth);
  if (depth == 0) {
    ask(size);
  } else {
    ask_deeper<kWords % 7 + 1>(size, depth - 1);
  }
  keep(const_cast<char*>(room));
}
APART void ask_with_room(size_t size, size_t bytes) {
  void* const room = alloca(bytes);
  keep(room);
  ask_deeper<2>(size, 3);
  keep(room);
}
APART void ask_aligned(size_t size) {
  alignas(128) volatile char room[256];
  room[0] = 1;
  keep(const_cast<char*>(room));
  ask_with_room(size, size % 900);
  keep(const_cast<char*>(room));
}
APART void ask_in_tail(size_t size) {
  keep(&size);
  return ask_deeper<5>(size, 2);
}

void plain() {
  for (size_t round = 0; round < 3; ++round) {
    ask(1000 + round);
    ask_deeper<1>(1100 + round, 20);
    ask_deeper<3>(1200 + round, 7);
    ask_with_room(1300 + round, 100 + 64 * round);
    ask_aligned(1400 + round);
    ask_in_tail(1500 + round);
  }
}

// Calls chosen by chance, so that each stack shares what it may with the one before.
uint64_t seed;
uint32_t chance(uint32_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(seed >> 33) % below;
}
size_t asked = 10000;
APART void wander(int depth);
template <int kWords>
APART void wander_on(int depth) {
  volatile char room[kWords * 16];
  room[0] = static_cast<char>(depth);
  wander(depth);
  keep(const_cast<char*>(room));
  if (chance(2) == 0) wander(depth);
  keep(const_cast<char*>(room));
}
APART void wander_with_room(int depth) {
  void* const room = alloca(16 * chance(5));
  keep(room);
  wander(depth);
  keep(room);
  if (chance(2) == 0) wander(depth);
  keep(room);
}
// Its frame stands at the same place though it is called from frames of unlike sizes.
APART void wander_aligned(int depth) {
  alignas(128) volatile char room[128];
  room[0] = static_cast<char>(depth);
  keep(const_cast<char*>(room));
  wander(depth);
  keep(const_cast<char*>(room));
}
APART void wander(int depth) {
  if (chance(2) == 0) ask(asked++);
  if (depth == 0 || asked >= 14000) return;
  switch (chance(6)) {
    case 0:
      return wander_on<1>(depth - 1);
    case 1:
      wander_on<2>(depth - 1);
      break;
    case 2:
      wander_on<9>(depth - 1);
      break;
    case 3:
      wander_with_room(depth - 1);
      break;
    case 4:
      wander_aligned(depth - 1);
      break;
    default:
      wander_with_room(depth - 1);
      wander_on<1>(depth - 1);
  }
  keep(&depth);
}
void random_walk(const char* from) {
  seed = strtoull(from, nullptr, 10);
  while (asked < 14000) wander(30);
}

APART void on_signal(int) {
  ask_deeper<2>(2000, 4);
}
void handle(int signal, int flags) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}
APART void raise_in(size_t size) {
  ask_deeper<4>(size, 2);
  raise(SIGUSR1);
  ask_deeper<4>(size + 1, 2);
}
void signals() {
  handle(SIGUSR1, 0);
  raise_in(2100);
  static char stack[1 << 16];
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  handle(SIGUSR1, SA_ONSTACK);
  raise_in(2200);
  raise_in(2300);
}
// In the middle of anything, not only where a function is called.
volatile int ticks;
APART void on_tick(int) {
  ask_deeper<1>(2400 + static_cast<size_t>(ticks), 1);
  ticks = ticks + 1;
}
APART uint64_t spin(uint64_t n) {
  uint64_t sum = 0;
  while (ticks < 100) sum = sum * 31 + n++ % 7;
  return sum;
}
void interrupts() {
  ask(2399);  // what backtrace() needs is loaded before a signal comes
  struct sigaction action = {};
  action.sa_handler = on_tick;
  sigaction(SIGALRM, &action, nullptr);
  timer_t timer;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const itimerspec often = {{0, 1'000'000}, {0, 1'000'000}};
  timer_settime(timer, 0, &often, nullptr);
  const uint64_t sum = spin(5);
  timer_delete(timer);
  keep(&sum);
}

struct AsksAtItsEnd {
  ~AsksAtItsEnd() { ask(3000); }
};
APART void throw_through(int depth) {
  const AsksAtItsEnd end;
  if (depth == 0) throw std::string("thrown");
  throw_through(depth - 1);
}
void exceptions() {
  try {
    throw_through(2);
  } catch (const std::string& text) {
    ask(3100 + text.size());
  }
}

jmp_buf back;
APART void jump_out(int depth) {
  if (depth == 0) {
    ask(4000);
    if (depth == ticks) longjmp(back, 1);
  }
  if (depth > 0) jump_out(depth - 1);
  keep(&depth);
}
void jumps() {
  for (int i = 0; i < 3; ++i) {
    if (setjmp(back) == 0) jump_out(5 + i);
    ask_deeper<3>(4100, 2);
  }
}

ucontext_t here;
ucontext_t there;
APART void coroutine() {
  for (size_t i = 0; i < 5; ++i) {
    ask_deeper<2>(5000 + i, 3);
    swapcontext(&there, &here);
  }
}
void coroutines() {
  constexpr size_t kStackBytes = 1 << 16;
  void* const stack =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  getcontext(&there);
  there.uc_stack = {stack, 0, kStackBytes};
  there.uc_link = &here;
  makecontext(&there, coroutine, 0);
  for (size_t i = 0; i < 5; ++i) {
    swapcontext(&here, &there);
    ask_deeper<3>(5100 + i, 2);
  }
}

void threads() {
  for (size_t i = 0; i < 3; ++i) {
    std::thread([i] {
      ask_deeper<2>(6000 + i, 5);
      ask_deeper<4>(6100 + i, 2);
    }).join();
  }
}

}  // namespace

// The register of the frame pointer holds something else, and is saved in the middle of the frame.
extern "C" void ask_by_hand(size_t size);
extern "C" __attribute__((used)) APART void ask_for_assembly(size_t size) {
  ask(size);
}
asm(R"(
  .text
  .type ask_by_hand, @function
ask_by_hand:
  .cfi_startproc
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_offset %r12, -16
  subq $56, %rsp
  .cfi_adjust_cfa_offset 56
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq $7, %rbp
  call ask_for_assembly
  popq %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  addq $56, %rsp
  .cfi_adjust_cfa_offset -56
  popq %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r12
  ret
  .cfi_endproc
  .size ask_by_hand, . - ask_by_hand
)");

// What is said of its frame is wrong: it would end far beyond the stack.
extern "C" void ask_from_nowhere(size_t size);
asm(R"(
  .text
  .type ask_from_nowhere, @function
ask_from_nowhere:
  .cfi_startproc
  subq $8, %rsp
  .cfi_def_cfa_offset 1048576
  call ask_quietly
  addq $8, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size ask_from_nowhere, . - ask_from_nowhere
)");

namespace {

void nowhere() {
  ask_from_nowhere(7100);
  std::thread([] { ask_from_nowhere(7101); }).join();
}

// Another thread holds the loader's lock, as dl_iterate_phdr(3) does.
std::binary_semaphore is_held{0};
std::binary_semaphore has_asked{0};
int wait_for_the_other(dl_phdr_info*, size_t, void*) {
  is_held.release();
  has_asked.acquire();
  return 1;
}
void loader_lock() {
  std::thread other([] {
    is_held.acquire();
    ask_quietly(7200);
    has_asked.release();
  });
  dl_iterate_phdr(wait_for_the_other, nullptr);
  other.join();
}

void assembly() {
  ask_by_hand(7000);
  ask_with_room(7001, 48);
  ask_by_hand(7002);
}

// The library calls back, and goes.
void libraries(const char* path) {
  for (int i = 0; i < 2; ++i) {
    void* const library = dlopen(path, RTLD_NOW);
    if (library == nullptr) exit(2);
    const auto call =
        reinterpret_cast<void (*)(void (*)(size_t), size_t)>(dlsym(library, "call_back"));
    for (size_t n = 0; n < 100; ++n) {
      call(ask, 8000);
      usleep(2000);
    }
    dlclose(library);
  }
}

void deep() {
  ask_deeper<2>(9000, 200);
  ask_deeper<2>(9001, 10);
}

}  // namespace

int main(int count, char** words) {
  const std::string shape = words[1];
  const char* const more = count > 2 ? words[2] : "";
  if (shape == "plain") plain();
  if (shape == "random") random_walk(more);
  if (shape == "signals") signals();
  if (shape == "interrupts") interrupts();
  if (shape == "exceptions") exceptions();
  if (shape == "jumps") jumps();
  if (shape == "coroutines") coroutines();
  if (shape == "threads") threads();
  if (shape == "assembly") assembly();
  if (shape == "nowhere") nowhere();
  if (shape == "loader_lock") loader_lock();
  if (shape == "malloc_lock") ask_quietly(7300);
  if (shape == "libraries") libraries(more);
  if (shape == "deep") deep();
  fflush(stdout);
  return 0;
}
