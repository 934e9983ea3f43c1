// A running heaptape-worker: starting it, taking turns with it, and saying what became of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocators/native/worker/worker_protocol.h"
#include "base/result.h"

namespace heaptape::allocators {

struct WorkerOptions {
  std::string preload;                   // library for LD_PRELOAD; empty: none, libc serves malloc
  std::vector<std::string> environment;  // NAME=VALUE, all that the worker gets besides LD_PRELOAD
  Touch touch = Touch::kPage;
  bool noop = false;
};

// Address-space randomisation is off in the worker, where the system allows that, so that runs
// repeat. It dies with this process. One thread.
class WorkerProcess {
 public:
  // Starts the worker and waits until it is ready for a batch. `name` is how messages call it.
  static base::Result<std::unique_ptr<WorkerProcess>> start(const std::string& name,
                                                            const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int pid() const { return pid_; }
  WorkerShared& shared() { return *shared_; }

  // Lets the worker do something. Must be followed by await().
  void give(Turn turn);
  // Waits until it is done. Fails when the worker died or gave up.
  base::Status await();

  // What the worker wrote to its standard error, without the last line break.
  std::string messages() const;

 private:
  WorkerProcess(std::string name, WorkerShared* shared, int stderr_fd);
  base::Status spawn(const WorkerOptions& options, int shared_fd);
  base::Error describe_death(int status) const;

  std::string name_;
  WorkerShared* shared_;
  int stderr_fd_;
  int pid_ = -1;
};

}  // namespace heaptape::allocators
