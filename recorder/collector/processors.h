// Which processors the recorder leaves to the programs.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace heaptape::recorder {

// Keeps threads of the recorder off the processors on which programs make calls, as far as there
// are others: docs/decisions/0045-processors.md. Any thread may call any function.
class OtherProcessors {
 public:
  // Where the process may run on more processors than a cpu_set_t has, no thread is moved.
  OtherProcessors();

  // Keeps this thread off, too. It lives until the last call.
  void add(pthread_t thread);

  // A program makes calls on `processor`, counted from 0; any value.
  void note(uint32_t processor, uint64_t now_ns);
  // Moves the threads, if need be. They may run anywhere once all processors are noted, or none has
  // been for a while, and while they are `needed` on all.
  void choose(uint64_t now_ns, bool needed);
  // They were late elsewhere: for a second, and twice as long each time, they may run anywhere.
  void stay(uint64_t now_ns);
  // The programs have ended. From now on the threads may run anywhere.
  void end();

 private:
  void move_to(const cpu_set_t& chosen);

  cpu_set_t allowed_;
  std::mutex mutex_;  // of all below
  cpu_set_t chosen_;
  std::vector<pthread_t> threads_;
  std::vector<uint64_t> noted_ns_;  // by processor; 0: never
  uint64_t stays_until_ns_ = 0;
  uint64_t stay_ns_ = 1000 * base::kMillisecondNs;  // the next time
  bool is_over_ = false;
};

// Whether more threads are ready to run than there are processors, by /proc/loadavg, without those
// that an OtherProcessors moves. Then a processor without a program is no better than another.
bool is_crowded();

}  // namespace heaptape::recorder
