// Threads, processes and programs that come after others and get what those had: rings, slots,
// stack logs. Each thread makes calls of its own, whose sizes follow from one another and say which
// functions are on the stack, as heirs.h has it, and then says "life PID START CALLS"; the program
// says first where its functions are.
//   heirs MODE; the modes are the functions at the end
#define _GNU_SOURCE
#include "heirs.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

static const char* program;
static _Atomic(void*) kept[64];  // blocks; a later call frees them
static atomic_uint lives;        // begun in this process

static void say(const char* format, ...) {
  char text[128];
  va_list values;
  va_start(values, format);
  const int length = vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (write(1, text, (size_t)length) != length) _exit(90);
}

// Functions whose frames tell calls apart.
APART static void leaf(unsigned state) {
  free(atomic_exchange(&kept[state % 64], malloc(heirs_size(state))));
  __asm__ volatile("");
}
static void turn(unsigned state, unsigned turns);
APART static void left(unsigned state, unsigned turns) {
  turn(state, turns);
  __asm__ volatile("");
}
APART static void right(unsigned state, unsigned turns) {
  turn(state, turns);
  __asm__ volatile("");
}
__attribute__((always_inline)) static inline void turn(unsigned state, unsigned turns) {
  if (turns == 0) {
    leaf(state);
  } else if (heirs_turns_right(state, turns - 1)) {
    right(state, turns - 1);
  } else {
    left(state, turns - 1);
  }
}
APART static void begin(unsigned state) {
  turn(state, heirs_turns(state));
  __asm__ volatile("");
}

struct life {
  unsigned start, state, calls;
};

static struct life new_life(void) {
  const unsigned start = heirs_start(atomic_fetch_add(&lives, 1));
  return (struct life){start, start, 0};
}
static void live(struct life* life, unsigned calls) {
  for (unsigned i = 0; i < calls; ++i, life->state = heirs_next(life->state)) begin(life->state);
  life->calls += calls;
}
static void end(const struct life* life) {
  say("life %d %u %u\n", (int)getpid(), life->start, life->calls);
}
// Once in a thread.
static void live_once(unsigned calls) {
  struct life life = new_life();
  live(&life, calls);
  end(&life);
}

// Some fill their ring, and some make their last calls when all but the C library has left.
static pthread_key_t last_words;
static void say_last_words(void* life) {
  live(life, 20);
  end(life);
}
static unsigned calls_of(uintptr_t number) {
  return number % 5 == 4 ? 3000 : 30 + 7 * (unsigned)(number % 3);
}
static void* thread_life(void* number) {
  static _Thread_local struct life life;
  life = new_life();
  live(&life, calls_of((uintptr_t)number));
  if ((uintptr_t)number % 2 == 0) {
    end(&life);
  } else {
    pthread_setspecific(last_words, &life);
  }
  return NULL;
}
static pthread_t start(void* (*function)(void*), uintptr_t number) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, (void*)number) != 0) _exit(91);
  return thread;
}

static int relay(void) {
  for (uintptr_t i = 0; i < 30; ++i) pthread_join(start(thread_life, i), NULL);
  return 0;
}

static int overlap(void) {
  live_once(10);
  pthread_t before[3];
  for (uintptr_t i = 0; i < 40; ++i) {
    if (i >= 3) pthread_join(before[i % 3], NULL);
    before[i % 3] = start(thread_life, i);
  }
  for (int i = 0; i < 3; ++i) pthread_join(before[i], NULL);
  return 0;
}

// In a child: what its parent kept is not its own, and its lives are counted anew.
static pid_t fork_anew(void) {
  const pid_t child = fork();
  if (child == 0) {
    memset(kept, 0, sizeof kept);
    lives = 100;
  }
  return child;
}
static void* exit_from_here(void* unused) {
  (void)unused;
  live_once(100);
  exit(0);
}
static void end_process(int how) {
  if (how == 0) _exit(0);
  if (how == 1) exit(0);
  if (how == 2) quick_exit(0);
  if (how == 3) abort();
  if (how == 4) raise(SIGKILL);
  start(exit_from_here, 0);
  pthread_exit(NULL);
}

// Children one after another, each in what the last one left, of a parent that is not done.
static int forks(void) {
  struct life life = new_life();
  for (int i = 0; i < 12; ++i) {
    live(&life, 60);
    const pid_t child = fork_anew();
    if (child == 0) {
      live_once(100);
      if (i % 3 == 1) pthread_join(start(thread_life, 3), NULL);
      if (i % 4 == 1 && fork_anew() == 0) live_once(50);
      while (wait(NULL) > 0) continue;
      end_process(i % 6);
    }
    waitpid(child, NULL, 0);
  }
  end(&life);
  return 0;
}

// Children of a process whose threads are all in the middle of their lives.
static pthread_barrier_t all_here;
static void* halved_life(void* number) {
  struct life life = new_life();
  live(&life, calls_of((uintptr_t)number));
  pthread_barrier_wait(&all_here);
  pthread_barrier_wait(&all_here);
  live(&life, calls_of((uintptr_t)number));
  end(&life);
  return NULL;
}
static int inherit(void) {
  enum { kThreads = 6 };
  pthread_t threads[kThreads];
  pthread_barrier_init(&all_here, NULL, kThreads + 1);
  for (uintptr_t i = 0; i < kThreads; ++i) threads[i] = start(halved_life, i);
  pthread_barrier_wait(&all_here);
  for (int i = 0; i < 4; ++i) {
    if (fork_anew() == 0) {
      overlap();
      _exit(0);
    }
  }
  while (wait(NULL) > 0) continue;
  pthread_barrier_wait(&all_here);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}

// Children whose first calls are made by a handler of the fork, which forks once more.
static struct life parents;
static void live_on(void) {
  live(&parents, 15);
}
static void live_anew(void) {
  memset(kept, 0, sizeof kept);
  lives = 100;
  parents = new_life();
  live(&parents, 25);
  static int generation;
  if (++generation < 3) fork();
}
static int fork_in_handler(void) {
  parents = new_life();
  pthread_atfork(live_on, live_on, live_anew);
  live(&parents, 10);
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) break;
  }
  live(&parents, 10);
  while (wait(NULL) > 0) continue;
  end(&parents);
  _exit(0);
}

// Children that borrow the thread.
static int borrow(void) {
  static struct life life;
  life = new_life();
  for (int i = 0; i < 10; ++i) {
    live(&life, 40);
    if (vfork() == 0) {
      live(&life, 15);
      _exit(0);
    }
  }
  end(&life);
  return 0;
}

static void execute(const char* mode) {
  execl(program, program, mode, NULL);
  _exit(92);
}
static int replace(void) {
  overlap();
  execute("relay");
  return 93;
}
static void* execute_overlap(void* unused) {
  live_once(100);
  execute("overlap");
  return unused;
}
static int replace_from_thread(void) {
  relay();
  return pthread_join(start(execute_overlap, 0), NULL);
}

// The first thread is gone long before the others.
static void* outlive(void* first) {
  pthread_join(*(pthread_t*)first, NULL);
  overlap();
  exit(0);
}
static int outlive_first(void) {
  static pthread_t first;
  first = pthread_self();
  live_once(100);
  pthread_t thread;
  if (pthread_create(&thread, NULL, outlive, &first) == 0) pthread_exit(NULL);
  return 94;
}

// Processes that each fill more than a chunk of their tape, at the same time.
static int interleave(void) {
  const int is_parent = fork_anew() != 0;
  live_once(36000);
  if (is_parent) wait(NULL);
  return 0;
}

static const struct {
  const char* name;
  int (*run)(void);
} modes[] = {
    {"relay", relay},
    {"overlap", overlap},
    {"forks", forks},
    {"inherit", inherit},
    {"fork-in-handler", fork_in_handler},
    {"borrow", borrow},
    {"replace", replace},
    {"replace-from-thread", replace_from_thread},
    {"outlive-first", outlive_first},
    {"interleave", interleave},
};

int main(int argc, char** argv) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  program = argv[0];
  fcntl(1, F_SETFL, O_APPEND);  // or lines of several processes may meet at one place
  pthread_key_create(&last_words, say_last_words);
  say("functions %lu %lu %lu %lu\n", (uintptr_t)leaf, (uintptr_t)left, (uintptr_t)right,
      (uintptr_t)begin);
  for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; ++i) {
    if (strcmp(argv[1], modes[i].name) == 0) return modes[i].run();
  }
  return 2;
}
