// Simulated threads call a simulated allocator and log their calls step by step, in any
// interleaving, while a collector drains at any time. Whatever happens, the tape has every call
// once, each thread's in its order, all in the order of their stamps, and no block is handed out
// while it is alive or given up while it is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "recorder/collector/ring_merge.h"
#include "recorder/ring/stamp.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

// Few addresses, so that each is soon handed out again; in an order of its own.
class TinyHeap {
 public:
  explicit TinyHeap(tests::Random& random) : random_(random) {
    for (uint64_t i = 1; i <= 64; ++i) free_.push_back(0x10000 * i);
  }
  uint64_t take() {
    std::swap(free_[random_.below(free_.size())], free_.back());
    const uint64_t address = free_.back();
    free_.pop_back();
    return address;
  }
  void give_back(uint64_t address) { free_.push_back(address); }
  bool is_low() const { return free_.size() < 16; }

 private:
  tests::Random& random_;
  std::vector<uint64_t> free_;
};

struct Simulation {
  tests::FakeSession session;
  tests::Random random;
  TinyHeap heap{random};
  std::vector<uint64_t> live;    // blocks that any thread may give up
  bool stamped = false;          // there is a second thread
  std::vector<uint32_t> claims;  // rings that the collector has yet to find

  explicit Simulation(uint64_t seed) : random(seed) {}
  uint64_t stamp() { return stamped ? take_stamp(session.view()) : 0; }
  uint64_t take_live() {
    std::swap(live[random.below(live.size())], live.back());
    const uint64_t address = live.back();
    live.pop_back();
    return address;
  }
};

// A thread, in the middle of a call or between two. recorder/interposer/producer.h has the order of
// the steps.
class SimulatedThread {
 public:
  SimulatedThread(Simulation& simulation, uint32_t ring)
      : simulation_(simulation), pen_(simulation.session, ring) {
    simulation.claims.push_back(ring);
  }

  const std::vector<Record>& log() const { return log_; }
  bool between_calls() const { return steps_.empty(); }

  void step() {
    if (steps_.empty()) begin_call();
    auto next = std::move(steps_.front());
    steps_.pop_front();
    next();
  }

 private:
  void begin_call() {
    const bool may_give_up = !simulation_.live.empty();
    if (!may_give_up || (!simulation_.heap.is_low() && simulation_.random.chance(2))) {
      begin_allocation();
    } else if (simulation_.random.chance(2)) {
      begin_resize();
    } else {
      begin_release();
    }
  }
  void begin_allocation() {
    record_ = tests::malloc_record(0, 0, ++sizes_);
    steps_.push_back([this] { record_.address = simulation_.heap.take(); });
    steps_.push_back([this] { record_.stamp = simulation_.stamp(); });
    steps_.push_back([this] { publish(); });
    steps_.push_back([this] { simulation_.live.push_back(record_.address); });
  }
  void begin_release() {
    record_ = tests::free_record(simulation_.take_live());
    steps_.push_back([this] { record_.stamp = simulation_.stamp(); });
    steps_.push_back([this] { publish(); });
    steps_.push_back([this] { simulation_.heap.give_back(record_.address); });
  }
  void begin_resize() {
    record_ = tests::realloc_record(simulation_.take_live(), 0);
    record_.size = ++sizes_;
    steps_.push_back([this] { pen_.header().resizing = record_.old_address; });
    steps_.push_back([this] { record_.begin_stamp = simulation_.stamp(); });
    steps_.push_back([this] { record_.address = simulation_.heap.take(); });
    steps_.push_back([this] { simulation_.heap.give_back(record_.old_address); });
    steps_.push_back([this] { record_.stamp = simulation_.stamp(); });
    steps_.push_back([this] { publish(); });
    steps_.push_back([this] { pen_.header().resizing = 0; });
    steps_.push_back([this] { simulation_.live.push_back(record_.address); });
  }
  void publish() {
    ASSERT_TRUE(pen_.has_room());
    if (simulation_.random.chance(50)) pen_.end_segment();
    pen_.write(record_);
    log_.push_back(record_);
  }

  Simulation& simulation_;
  tests::RingPen pen_;
  Record record_;
  uint64_t sizes_ = 0;
  std::deque<std::function<void()>> steps_;
  std::vector<Record> log_;
};

// Walks the tape beside the logs of its threads.
class TapeCheck {
 public:
  explicit TapeCheck(std::vector<std::vector<Record>> logs)
      : logs_(std::move(logs)), next_(logs_.size()) {}

  void take(const schema::Event& event, bool in_stamp_order) {
    ASSERT_LT(event.thread, logs_.size());
    ASSERT_LT(next_[event.thread], logs_[event.thread].size());
    const Record& logged = logs_[event.thread][next_[event.thread]++];
    ASSERT_EQ(event.op, logged.op);
    ASSERT_EQ(event.size, logged.size);
    if (in_stamp_order) {
      ASSERT_GE(logged.stamp, last_stamp_);
    }
    last_stamp_ = std::max(last_stamp_, logged.stamp);
    if (event.freed_address != 0) {
      ASSERT_EQ(live_.erase(event.freed_address), 1u);
    }
    if (event.address != 0) {
      ASSERT_TRUE(live_.insert(event.address).second);
    }
  }
  void expect_complete() const {
    for (size_t i = 0; i < logs_.size(); ++i) EXPECT_EQ(next_[i], logs_[i].size());
  }

 private:
  std::vector<std::vector<Record>> logs_;
  std::vector<size_t> next_;
  std::set<uint64_t> live_;
  uint64_t last_stamp_ = 0;
};

class Interleaving {
 public:
  Interleaving(uint64_t seed, uint32_t max_threads) : simulation_(seed), max_threads_(max_threads) {
    simulation_.session.join(0, 42);
    start_thread();
  }

  void advance(int steps) {
    tests::Random& random = simulation_.random;
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      // By turns in bursts and in single steps, so that calls overlap now little, now much.
      if (!threads_[current_]->between_calls() ? random.chance(3) : random.chance(20)) {
        current_ = random.below(threads_.size());
      }
      threads_[current_]->step();
      if (threads_.size() < max_threads_ && random.chance(500)) start_thread();
      if (random.chance(100)) cut_ = stamp_now(simulation_.session.view());
      if (random.chance(100)) drain();
    }
  }
  void finish() {
    for (const auto& thread : threads_) {
      while (!thread->between_calls()) thread->step();
    }
    drain();
    cut_ = stamp_now(simulation_.session.view());
    drain();
  }
  void check() {
    const auto summary = merge_.collect_summary(2);
    EXPECT_EQ(summary.losses.unrepaired_inversions, 0u);
    EXPECT_EQ(summary.losses.lost_events, 0u);
    EXPECT_EQ(summary.unknown_frees, 0u);
    ASSERT_TRUE(tape_->finish(summary).ok());
    std::vector<std::vector<Record>> logs;
    for (const auto& thread : threads_) logs.push_back(thread->log());
    TapeCheck check(std::move(logs));
    auto reader = schema::TapeReader::open(dir_.file("t"));
    ASSERT_TRUE(reader.ok());
    for (const schema::Event& event : tests::read_events(*reader)) {
      check.take(event, summary.repaired_inversions == 0);
      if (testing::Test::HasFatalFailure()) return;
    }
    check.expect_complete();
  }
  uint64_t repaired() const { return merge_.collect_summary(2).repaired_inversions; }

 private:
  void start_thread() {
    if (!threads_.empty()) simulation_.stamped = true;
    const auto ring = static_cast<uint32_t>(threads_.size());
    threads_.push_back(std::make_unique<SimulatedThread>(simulation_, ring));
  }
  // The cut was taken some steps ago: rings and heads are read after it.
  void drain() {
    for (const uint32_t ring : simulation_.claims) merge_.add_ring(ring);
    simulation_.claims.clear();
    merge_.drain(cut_, 1);
  }

  Simulation simulation_;
  uint32_t max_threads_;
  tests::TempDir dir_;
  std::vector<std::unique_ptr<SimulatedThread>> threads_;
  size_t current_ = 0;
  uint64_t cut_ = 0;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("t"), tests::sample_header()));
  Backlog backlog_;
  RingMerge merge_{backlog_, simulation_.session.view(), 0, tape_->encoder(), 0};
};

TEST(RingMerge, GivesOneValidOrderOfAllCalls) {
  const uint64_t seed = tests::test_seed();
  SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
  uint64_t repaired = 0;
  for (uint32_t round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Interleaving run(seed + round, 1 + round % 6);
    run.advance(20000);
    run.finish();
    run.check();
    if (HasFailure()) return;
    repaired += run.repaired();
  }
  EXPECT_GT(repaired, 0u);  // else the simulation does not show what it should
}

}  // namespace
}  // namespace heaptape::recorder
