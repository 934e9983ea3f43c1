// The tape's threads as real threads of the worker, parked until the driver, which is thread 0 of
// the tape, has work for one. docs/decisions/0017-ordered-threads.md. Free of the C++ run-time
// library; all functions are for the driver.
#pragma once

#include <stdint.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Whether processor and kernel let a program set its own thread pointer (FSGSBASE, Linux 5.9).
bool can_borrow();

// Each returns false if no more threads can be made; the driver then runs as itself.

// From here on the driver runs with the thread pointer of thread `number`, so that an allocator's
// thread-local data is that thread's. Makes the thread if there is none. Requires can_borrow().
bool borrow_thread(uint16_t number);
extern uint16_t borrowed_thread;  // whose thread pointer the driver has
inline bool become_thread(uint16_t number) {
  return number == borrowed_thread || borrow_thread(number);
}
inline bool become_driver() {
  return become_thread(0);
}

// Has thread `number` itself call work(argument), and waits for it. Makes the thread if there is
// none. The driver must be itself.
bool run_on_thread(uint16_t number, void (*work)(uint32_t), uint32_t argument);

// The same without waiting, for a thread other than 0.
bool begin_on_thread(uint16_t number, void (*work)(uint32_t), uint32_t argument);
void await_thread(uint16_t number);

// Lets the thread end, with all that its allocator does then, and waits for it; the driver is
// itself afterwards. The number is free for a new thread. Does nothing if there is no such thread,
// as for thread 0.
void end_thread(uint16_t number);

// The same for threads that end before ops[op]. False if some are left, because the log has more
// than `most_logged` memory calls.
bool end_threads(WorkerShared& shared, uint32_t op, uint32_t most_logged);

}  // namespace heaptape::allocators
