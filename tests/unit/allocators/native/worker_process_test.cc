#include "allocators/native/worker_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "tests/support/limit.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::allocators {
namespace {

using tests::Limit;

// A start that fails, after which nothing may be left of it.
class FailingStart : public testing::Test {
 protected:
  ~FailingStart() override {
    EXPECT_EQ(descriptors(), descriptors_);
    EXPECT_EQ(mappings(), 0u);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  }
  std::string error(const WorkerOptions& options = {}) {
    const auto worker = WorkerProcess::start("test", options);
    EXPECT_FALSE(worker.ok());
    return worker.ok() ? "" : worker.error().message;
  }
  static ptrdiff_t descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }
  // Of memory that is shared with a worker.
  static size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
      count += line.find("heaptape-worker") != std::string::npos;
    }
    return count;
  }
  static rlim_t free_descriptor() {
    return static_cast<rlim_t>(base::Descriptor(dup(STDIN_FILENO)).get());
  }

  ptrdiff_t descriptors_ = descriptors();
};

TEST_F(FailingStart, WithoutADescriptorLeavesNothing) {
  const Limit limit(RLIMIT_NOFILE, free_descriptor());
  EXPECT_NE(error().find("Too many open files"), std::string::npos);
}

TEST_F(FailingStart, WithOneDescriptorLeavesNothing) {
  const Limit limit(RLIMIT_NOFILE, free_descriptor() + 1);
  EXPECT_NE(error().find("Too many open files"), std::string::npos);
}

TEST_F(FailingStart, WithoutMemoryToShareLeavesNothing) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  {
    const Limit limit(RLIMIT_FSIZE, 4096);
    EXPECT_NE(error().find("memory to share with the replay worker"), std::string::npos);
  }
  std::signal(SIGXFSZ, before);
}

TEST_F(FailingStart, OfAWorkerThatCannotBeExecutedLeavesNothing) {
  WorkerOptions options;
  options.environment = {"X=" + std::string(1 << 20, 'x')};  // more than the kernel takes
  EXPECT_NE(error(options).find("cannot execute"), std::string::npos);
}

// A worker that stops at memory calls by the thousand, on glibc.
class Worker : public testing::Test {
 protected:
  static constexpr uint32_t kOps = 4000;
  static_assert(kOps > kMaxMemoryCalls - kMemoryCallsPerOp && kOps <= kMaxBatchOps);

  Worker() {
    auto started = WorkerProcess::start(
        "test", {.preload = tests::target_path("libreplay_signal_mapper.so"),
                 .environment = {"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072"},
                 .touch = Touch::kNone});
    EXPECT_TRUE(started.ok()) << started.error().message;
    worker_ = std::move(*started);
  }
  // Each op maps memory of its own.
  void run(uint32_t ops) {
    WorkerShared& shared = worker_->shared();
    for (uint32_t op = 0; op < ops; ++op) {
      shared.ops[op] = {.kind = ReplayKind::kMalloc, .slot = op, .size = 200000};
    }
    shared.op_begin = 0;
    shared.op_end = shared.slot_limit = ops;
    shared.memory_calls = 0;
    worker_->give(Turn::kRun);
    ASSERT_TRUE(worker_->await().ok());
  }
  // The op under which a memory call is logged that is made now, between two turns.
  uint32_t op_of_call_now() {
    WorkerShared& shared = worker_->shared();
    const uint32_t logged = shared.memory_calls;
    kill(worker_->pid(), SIGUSR1);
    const std::atomic_ref<uint32_t> calls(shared.memory_calls);
    for (int i = 0; i < 10000 && calls.load() == logged; ++i) usleep(1000);
    EXPECT_EQ(calls.load(), logged + 1);
    return shared.calls[logged].op;
  }

  std::unique_ptr<WorkerProcess> worker_;
};

TEST_F(Worker, ChargesACallBetweenTurnsToTheOpThatComesNext) {
  run(kOps);
  const uint32_t done = worker_->shared().op_done;
  ASSERT_GT(done, 0u);
  ASSERT_LT(done, kOps) << "the log of memory calls held the whole batch";
  EXPECT_EQ(op_of_call_now(), done);
}

TEST_F(Worker, ChargesACallBetweenBatchesToTheFirstOpOfTheNext) {
  run(2);
  EXPECT_EQ(op_of_call_now(), 0u);
}

TEST_F(Worker, IsTheFirstToGoWhenMemoryRunsOut) {
  const std::string score = "/proc/" + std::to_string(worker_->pid()) + "/oom_score_adj";
  EXPECT_EQ(tests::read_bytes(score), "1000\n");
}

}  // namespace
}  // namespace heaptape::allocators
