#include "allocators/native/worker/parked_threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "allocators/native/worker/thread_stacks.h"
#include "allocators/native/worker/worker_threads.h"
#include "allocators/native/worker/worker_traps.h"

namespace heaptape::allocators {
namespace {

constexpr unsigned long kHwcap2Fsgsbase = 1 << 1;
constexpr uint64_t kThreads = 1 << 16;
constexpr uint64_t kTable = uint64_t{47} << 40;  // away from the allocator's memory, like stacks

// The thread's next task. The driver writes all but kPark.
enum class Task : uint32_t { kStart, kPark, kWork, kEnd };

struct Parked {
  std::atomic<Task> task;  // a futex
  bool exists;
  uint64_t thread_pointer;
  pid_t tid;
  pthread_t id;
  void* stack;
  void (*work)(uint32_t);
  uint32_t argument;
};

Parked* threads = nullptr;  // kThreads of them; [0] is the driver
uint16_t& current = borrowed_thread;

uint64_t own_thread_pointer() {
  uint64_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

void set_thread_pointer(uint64_t pointer) {
  asm volatile("wrfsbase %0" : : "r"(pointer) : "memory");
}

void set_task(Parked& thread, Task task) {
  thread.task.store(task, std::memory_order_release);
  syscall(SYS_futex, &thread.task, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Waits while the task is `task`.
Task wait_while(Parked& thread, Task task) {
  for (;;) {
    const Task now = thread.task.load(std::memory_order_acquire);
    if (now != task) return now;
    syscall(SYS_futex, &thread.task, FUTEX_WAIT_PRIVATE, task, nullptr, nullptr, 0);
  }
}

void* live(void* argument) {
  Parked& self = *static_cast<Parked*>(argument);
  self.thread_pointer = own_thread_pointer();
  self.tid = gettid();
  play_tape();
  set_task(self, Task::kPark);
  while (wait_while(self, Task::kPark) == Task::kWork) {
    self.work(self.argument);
    set_task(self, Task::kPark);
  }
  return nullptr;
}

bool make_table() {
  threads = static_cast<Parked*>(
      map_unwatched(kTable, kThreads * sizeof(Parked), PROT_READ | PROT_WRITE));
  if (threads == nullptr) return false;
  threads[0].exists = true;
  threads[0].thread_pointer = own_thread_pointer();
  return true;
}

bool start(Parked& thread) {
  const ThreadStack stack = take_stack();
  if (stack.base == nullptr) return false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack.base, stack.bytes);
  thread.task.store(Task::kStart, std::memory_order_relaxed);
  thread.stack = stack.base;
  if (pthread_create(&thread.id, &attributes, live, &thread) != 0) {
    give_back_stack(stack.base);
    return false;
  }
  wait_while(thread, Task::kStart);
  thread.exists = true;
  return true;
}

void take_thread_pointer(uint16_t number) {
  if (current == number) return;
  set_thread_pointer(threads[number].thread_pointer);
  pretend_tid(threads[number].tid);
  current = number;
}

bool provide(uint16_t number) {
  if (threads == nullptr && !make_table()) return false;
  if (threads[number].exists) [[likely]]
    return true;
  take_thread_pointer(0);
  return start(threads[number]);
}

}  // namespace

uint16_t borrowed_thread = 0;

bool can_borrow() {
  return (getauxval(AT_HWCAP2) & kHwcap2Fsgsbase) != 0;
}

bool borrow_thread(uint16_t number) {
  if (!provide(number)) return false;
  take_thread_pointer(number);
  return true;
}

bool run_on_thread(uint16_t number, void (*work)(uint32_t), uint32_t argument) {
  if (number == 0) {
    work(argument);
    return true;
  }
  if (!begin_on_thread(number, work, argument)) return false;
  await_thread(number);
  return true;
}

bool begin_on_thread(uint16_t number, void (*work)(uint32_t), uint32_t argument) {
  if (!provide(number)) return false;
  Parked& thread = threads[number];
  thread.work = work;
  thread.argument = argument;
  set_task(thread, Task::kWork);
  return true;
}

void await_thread(uint16_t number) {
  wait_while(threads[number], Task::kWork);
}

void end_thread(uint16_t number) {
  if (number == 0 || threads == nullptr || !threads[number].exists) return;
  take_thread_pointer(0);
  Parked& thread = threads[number];
  set_task(thread, Task::kEnd);
  pthread_join(thread.id, nullptr);
  thread.exists = false;
  give_back_stack(thread.stack);
}

bool end_threads(WorkerShared& shared, uint32_t op, uint32_t most_logged) {
  uint32_t& done = shared.end_done;
  for (; done < shared.end_end && shared.ends[done].op <= op; ++done) {
    if (shared.memory_calls > most_logged) return false;
    end_thread(shared.ends[done].thread);
  }
  return true;
}

}  // namespace heaptape::allocators
