// Which processors the recorder leaves to the programs.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"

namespace heaptape::recorder {

// Keeps threads of the recorder off the processors on which programs make calls, as far as there
// are others: docs/decisions/0045-processors.md. Any thread may call any function.
class OtherProcessors {
 public:
  static constexpr size_t kMostThreads = 8;

  // Where the process may run on more processors than a cpu_set_t has, or not on all that the
  // machine has, no thread is moved: /proc/loadavg says nothing about a part.
  OtherProcessors();

  // Keeps this thread off as well. It lives until the last call. At most kMostThreads.
  void add(pthread_t thread);

  // A program makes calls on `processor`, counted from 0; any value.
  void note(uint32_t processor, uint64_t now_ns);
  // Moves the threads, if need be. They may run anywhere once more than half of the processors are
  // noted, or none has been for a while, while the machine is crowded, and while they are `needed`
  // on all.
  void choose(uint64_t now_ns, bool needed);
  // Whether the machine is crowded just now. It counts as crowded once that was so twice in a row:
  // the start of a program has many threads for a moment. One thread.
  void note_crowd(bool is_crowded) {
    is_crowded_ = is_crowded && was_crowded_;
    was_crowded_ = is_crowded;
  }
  // They were late elsewhere: for a second, and twice as long each time, they may run anywhere.
  void stay(uint64_t now_ns);
  // The programs have ended. From now on the threads may run anywhere.
  void end();

 private:
  void move_to(const cpu_set_t& chosen);

  cpu_set_t allowed_;
  std::atomic<bool> is_crowded_ = false;
  bool was_crowded_ = false;
  std::mutex mutex_;  // of all below
  cpu_set_t chosen_;
  std::vector<pthread_t> threads_;
  std::vector<uint64_t> noted_ns_;  // by processor; 0: never
  uint64_t stays_until_ns_ = 0;
  uint64_t stay_ns_ = 1000 * base::kMillisecondNs;  // the next time
  bool is_over_ = false;
};

// Whether about as many threads of others are ready to run as there are processors: then one
// without a program of ours is no better than another. `loadavg`: the text of /proc/loadavg.
bool is_crowded(const std::string& loadavg, uint64_t processors);
// That of this machine, now. Opens a file.
bool is_machine_crowded();

}  // namespace heaptape::recorder
