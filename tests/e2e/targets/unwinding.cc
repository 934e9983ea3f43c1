// Asks for blocks from stacks of all kinds, and says of each what libgcc's unwinder makes of it, so
// that a test can compare: "SIZE ADDRESS ADDRESS ..." in a line each, from the function that called
// ask() on. The shape is named on the command line.
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <sched.h>
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

#include "unwinding.h"

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
}  // namespace
extern "C" APART void ask_quietly(size_t size) {
  void* const block = malloc(size);
  keep(block);
  free(block);
}
namespace {

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

// An aligned frame stands at one place for two callers of callers whose own frames are of unlike
// sizes. What returned to the first stays behind, in room that the second does not write to.
// As its size is not fixed, the compiler keeps where the stack was before it was aligned.
APART void ask_in_place(size_t size) {
  alignas(128) volatile char room[128];
  room[0] = 1;
  keep(alloca(size % 64 + 1));
  keep(const_cast<char*>(room));
  ask(size);
  keep(const_cast<char*>(room));
}
APART void come_with_room(size_t size) {
  volatile char room[104];
  room[96] = 1;
  keep(const_cast<char*>(room));
  ask_in_place(size);
  room[96] = 2;
}
template <int kBytes>
APART void come_from_afar(size_t size) {
  volatile char room[kBytes];
  room[kBytes - 1] = 1;
  keep(const_cast<char*>(room));
  come_with_room(size);
  room[kBytes - 1] = 2;
}
void (*const volatile ways_to_come[])(size_t) = {come_from_afar<24>, come_from_afar<56>};
APART void come_both_ways(size_t size, size_t bytes) {
  void* const room = alloca(bytes);
  keep(room);
  for (size_t i = 0; i < 4; ++i) ways_to_come[i % 2](size);
  keep(room);
}
void places() {
  for (size_t i = 0; i < 9; ++i) come_both_ways(1600 + i, 1 + 16 * i);
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
// Frames of one size, which save the caller's frame pointer at unlike places.
void (*const volatile holders[])(int) = {hold_above, hold_between, hold_below, hold_nothing,
                                         hold_at_frame};
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
  holders[chance(5)](depth);
  keep(room);
  if (chance(2) == 0) wander(depth);
  keep(room);
}
// Its frame stands at the same place though it is called from frames of unlike sizes.
APART void wander_aligned(int depth) {
  alignas(128) volatile char room[128];
  room[0] = static_cast<char>(depth);
  keep(alloca(16 * chance(2)));
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
}  // namespace
extern "C" APART void wander_for_assembly(int depth) {
  wander(depth);
  keep(&depth);
}
extern "C" APART void ask_for_assembly(size_t size) {
  ask(size);
  keep(&size);
}
namespace {
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

// A signal after each instruction, in which those of this program ask. The kernel turns the steps
// off for a handler, and on again at its end.
constexpr greg_t kStepping = 0x100;  // of the flags register
extern "C" const char __executable_start;
extern "C" const char etext;
size_t steps;
void set_stepping(int signal, siginfo_t*, void* context) {
  greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags = signal == SIGUSR1 ? flags | kStepping : flags & ~kStepping;
}
APART void on_step(int, siginfo_t*, void* context) {
  const greg_t at = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const auto begin = reinterpret_cast<greg_t>(&__executable_start);
  if (at >= begin && at < reinterpret_cast<greg_t>(&etext)) ask(2600 + steps++);
}
APART int count_in_steps(int n) {
  volatile char room[40];
  room[0] = static_cast<char>(n);
  keep(const_cast<char*>(room));
  return room[0] + sched_getcpu() + sched_getcpu();
}
APART void call_in_steps(size_t bytes) {
  void* const room = alloca(bytes);
  keep(room);
  raise(SIGUSR1);
  const int count = count_in_steps(7);
  raise(SIGUSR2);
  keep(&count);
}
void step_by_step() {
  ask(2599);
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = set_stepping;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGUSR2, &action, nullptr);
  action.sa_sigaction = on_step;
  sigaction(SIGTRAP, &action, nullptr);
  call_in_steps(80);
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
    keep(&text);
    ask(3106);
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

namespace {

void nowhere() {
  ask_from_nowhere(7100);
  std::thread([] { ask_from_nowhere(7101); }).join();
}

// On a stack 32 MiB below this one, with nothing in between.
APART void ask_over_a_gap() {
  ask_from_nowhere(7400);
}
void gap() {
  constexpr size_t kStackBytes = 1 << 16;
  ask(7401);
  char* const low = reinterpret_cast<char*>(reinterpret_cast<size_t>(&low) >> 12 << 12);
  void* const stack = mmap(low - (32 << 20), kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (stack == MAP_FAILED) exit(3);
  getcontext(&there);
  there.uc_stack = {stack, 0, kStackBytes};
  there.uc_link = &here;
  makecontext(&there, ask_over_a_gap, 0);
  swapcontext(&here, &there);
  ask(7402);
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

void stubs() {
  ask_in_stub_after_push(7500);
  call_stub_before_push(7501);
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

// They come in turn, and all to one place.
void successors(const char* const* paths) {
  using CallBack = void (*)(void (*)(size_t), size_t);
  CallBack first = nullptr;
  for (size_t i = 0; i < 8; ++i) {
    void* const library = dlopen(paths[i % 2], RTLD_NOW);
    if (library == nullptr) exit(2);
    const auto call = reinterpret_cast<CallBack>(dlsym(library, "call_back"));
    if (i == 0) first = call;
    if (call != first) exit(4);
    for (size_t n = 0; n < 50; ++n) {
      call(ask, 8100);
      usleep(1000);
    }
    dlclose(library);
  }
}

// One that is closed as often as it is opened, but stays.
void reopened(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) exit(2);
  const auto call =
      reinterpret_cast<void (*)(void (*)(size_t), size_t)>(dlsym(library, "call_back"));
  for (size_t n = 0; n < 100; ++n) {
    call(ask, 8200);
    usleep(2000);
  }
  for (size_t n = 0; n < 100; ++n) {
    dlclose(dlopen(path, RTLD_NOW));
    call(ask, 8201);
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
  if (shape == "places") places();
  if (shape == "random") random_walk(more);
  if (shape == "signals") signals();
  if (shape == "interrupts") interrupts();
  if (shape == "exceptions") exceptions();
  if (shape == "jumps") jumps();
  if (shape == "coroutines") coroutines();
  if (shape == "threads") threads();
  if (shape == "assembly") assembly();
  if (shape == "steps") step_by_step();
  if (shape == "stubs") stubs();
  if (shape == "gap") gap();
  if (shape == "nowhere") nowhere();
  if (shape == "loader_lock") loader_lock();
  if (shape == "malloc_lock") ask_quietly(7300);
  if (shape == "libraries") libraries(more);
  if (shape == "successors") successors(words + 2);
  if (shape == "reopened") reopened(more);
  if (shape == "deep") deep();
  fflush(stdout);
  return 0;
}
