// A running heaptape-worker: starting it, taking turns with it, and reporting how it ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocators/native/worker/worker_protocol.h"
#include "base/descriptor.h"
#include "base/mapping.h"
#include "base/result.h"

namespace heaptape::allocators {

struct WorkerOptions {
  std::string preload = {};  // library for LD_PRELOAD; empty if libc serves malloc
  // NAME=VALUE: the worker's whole environment besides LD_PRELOAD and LD_BIND_NOW.
  std::vector<std::string> environment = {};
  uint64_t break_phase = 0;  // where its heap begins, modulo kBreakPeriodBytes
  Touch touch = Touch::kPage;
  Answers answers = Answers::kPlacements;
  Calls calls = Calls::kMade;
  Threads threads = Threads::kMerged;
  Clock clock = Clock::kTape;
  // The limit for one call, in the worker's and this process's running time.
  uint32_t patience_ms = 30'000;
};

// Address-space randomisation is off in the worker, where the system allows that, so that runs
// repeat. The worker ends with this object, and with this process however that ends; a failed start
// leaves no process, descriptor or memory behind. One thread.
class WorkerProcess {
 public:
  // Starts the worker and waits until it is ready for a batch. Messages call it `name`.
  static base::Result<std::unique_ptr<WorkerProcess>> start(const std::string& name,
                                                            const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int pid() const { return pid_; }
  WorkerShared& shared() { return *static_cast<WorkerShared*>(memory_.data()); }

  // Gives the worker a task. Must be followed by await().
  void give(Turn turn);
  // Waits until it is done. Fails if the worker died, gave up or hangs: kTarget if the allocator
  // caused it.
  base::Status await();
  // For callers that cannot find it in /proc while it waits for its turn: fails like await() if it
  // has died, or dies within two seconds.
  base::Status check_alive();
  // Lets the worker exit as programs do; some allocators print their statistics then.
  void end();

  // The worker's standard output and error, without the last line break: the last `limit` bytes at
  // most.
  std::string messages(size_t limit = 4096) const;

 private:
  WorkerProcess(std::string name, base::Mapping memory, base::Descriptor messages);
  base::Status spawn(const WorkerOptions& options, int memory_fd);
  base::Status await_turn();             // waits until it gives the turn back
  base::Error describe_failure() const;  // of the turn that it gave back
  base::Error describe_death(int status) const;
  base::Error with_messages(std::string text) const;
  void trim_messages() const;

  std::string name_;
  base::Mapping memory_;       // a WorkerShared
  base::Descriptor messages_;  // the worker's standard output and error
  uint32_t patience_ms_ = 0;
  int pid_ = -1;
};

}  // namespace heaptape::allocators
