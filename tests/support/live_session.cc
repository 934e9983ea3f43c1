#include "tests/support/live_session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/descriptor.h"
#include "recorder/collector/collector.h"
#include "recorder/interposer/attach.h"
#include "recorder/interposer/describe_allocator.h"

namespace heaptape::tests {
namespace {

// ThreadSanitizer does not see the load in latch::wait, which GCC 16 has in its library.
void await(std::latch& latch) {
  while (!latch.try_wait()) latch.wait();
}

// A child that ends when released: the collector collects while its target lives.
class Target {
 public:
  Target() {
    int ends[2];
    HEAPTAPE_CHECK(pipe(ends) == 0);
    out_.reset(ends[0]);
    in_.reset(ends[1]);
    pid_ = fork();
    HEAPTAPE_CHECK(pid_ >= 0);
    if (pid_ != 0) return;
    in_.reset();
    char byte;
    [[maybe_unused]] const ssize_t end = read(out_.get(), &byte, 1);
    _exit(0);
  }
  int pid() const { return pid_; }
  void let_go() { in_.reset(); }

 private:
  base::Descriptor out_;
  base::Descriptor in_;
  int pid_;
};

}  // namespace

std::vector<schema::Event> Taped::of_thread(uint32_t thread) const {
  std::vector<schema::Event> own;
  for (const schema::Event& event : events) {
    if (event.thread == thread) own.push_back(event);
  }
  return own;
}

Taped read_taped(const std::string& path) {
  Taped taped;
  auto reader = schema::TapeReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  if (!reader.ok()) return taped;
  taped.summary = *reader->summary();
  schema::EventBatch batch;
  do {
    EXPECT_TRUE(reader->read(batch, 4096).ok());
    taped.events.insert(taped.events.end(), batch.events.begin(), batch.events.end());
    taped.times.insert(taped.times.end(), batch.times.begin(), batch.times.end());
  } while (!batch.events.empty());
  return taped;
}

LiveSession::LiveSession(const recorder::SessionOptions& options, recorder::Clock clock)
    : memory_(std::move(*recorder::SessionMemory::create(options))),
      handshakes_(std::move(*recorder::HandshakeServer::open())) {
  memory_->view().board().clock = clock;
  member_ = std::thread([this] {
    recorder::adopt_session(
        memory_->view(), static_cast<uint32_t>(getpid()), 0,
        recorder::describe_allocator(reinterpret_cast<const void*>(&std::malloc)));
    joined_.count_down();
    await(over_);
  });
  await(joined_);
}

LiveSession::~LiveSession() {
  recorder::detach_process();
  over_.count_down();
  member_.join();
}

Taped LiveSession::collect(const std::function<void()>& program) {
  Target target;
  std::thread runner([&] {
    program();
    target.let_go();
  });
  Taped taped = collect_until_end(target.pid(), {});
  runner.join();
  return taped;
}

Taped LiveSession::collect_when_over(const std::function<void()>& program,
                                     const recorder::RestWatcher& rest_watcher) {
  Target target;
  program();
  target.let_go();
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(target.pid()), &info, WEXITED | WNOWAIT), 0);
  return collect_until_end(target.pid(), rest_watcher);
}

Taped LiveSession::collect_until_end(int target, const recorder::RestWatcher& rest_watcher) {
  recorder::CollectorOptions options{tape_path(), {"program"}};
  options.rest_watcher = rest_watcher;
  recorder::Collector collector(*memory_, *handshakes_, std::move(options));
  const recorder::Recording recording = collector.run({.pid = target});
  EXPECT_TRUE(recording.failures.empty());
  return read_taped(tape_path());
}

void in_threads(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace heaptape::tests
