// One process of a recording whose file takes for ever: a FIFO that nobody reads.
#include "recorder/collector/recorded_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "recorder/collector/process_table.h"
#include "recorder/unwind/code_map.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

class RecordedProcessTest : public testing::Test {
 protected:
  RecordedProcessTest() {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    fifo_.reset(open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    const char page[4096] = {};
    while (write(fifo_.get(), page, sizeof page) > 0) continue;  // full until it is read
    session_.join(0, static_cast<uint32_t>(getpid()));
  }
  ~RecordedProcessTest() override {
    read_file();
    table_.reset();
    done_ = true;
    reader_.join();
  }

  RecordedProcess& process() { return *table_->processes().at(0); }
  // Above all stamps; of a process that lives.
  static constexpr uint64_t kCut = RingMerge::kEverything - 1;
  // Calls that came onto the tape.
  uint64_t drain() {
    const uint64_t before = process().tape().encoder().events();
    process().begin_round(kCut, base::monotonic_ns());
    process().work(UINT64_MAX);
    return process().tape().encoder().events() - before;
  }
  uint32_t behind() const { return session_.view().process(0).behind; }
  void fall_behind() {
    while (!process().tape().is_behind()) {
      process().tape().encoder().append(tests::malloc_event(16, 0x1000));
    }
  }
  // From now on somebody reads the FIFO.
  void read_file() {
    if (reader_.joinable()) return;
    reader_ = std::thread([this] {
      char bytes[1 << 16];
      while (!done_) {
        if (read(fifo_.get(), bytes, sizeof bytes) <= 0) usleep(100);
      }
    });
  }

  tests::FakeSession session_;
  tests::TempDir dir_;
  std::string path_ = dir_.file("slow");
  base::Descriptor fifo_;
  std::atomic<bool> done_ = false;
  std::thread reader_;
  std::unique_ptr<HandshakeServer> handshakes_ = std::move(*HandshakeServer::open());
  Backlog backlog_{0};  // has room for one round of a process
  std::unique_ptr<ProcessTable> table_ =
      std::make_unique<ProcessTable>(backlog_, session_.pools(), *handshakes_, path_);
};

TEST_F(RecordedProcessTest, IsNotDrainedWhileItsFileIsBehindAndKnowsIt) {
  tests::RingPen pen(session_, 0);
  pen.write(tests::malloc_record(0x1000));
  table_->adopt_claims();
  fall_behind();
  EXPECT_EQ(drain(), 0u);
  EXPECT_EQ(pen.header().tail, pen.head());
  EXPECT_EQ(behind(), 0u) << "the backlog has it";
  const uint64_t copied = pen.head();
  pen.write(tests::malloc_record(0x2000));
  EXPECT_EQ(drain(), 0u);
  EXPECT_EQ(pen.header().tail, copied);
  EXPECT_EQ(behind(), 1u);
}

TEST_F(RecordedProcessTest, IsDrainedAgainOnceItsFileHasCaughtUp) {
  tests::RingPen pen(session_, 0);
  pen.write(tests::malloc_record(0x1000));
  table_->adopt_claims();
  fall_behind();
  drain();
  pen.write(tests::malloc_record(0x2000));
  drain();
  ASSERT_EQ(behind(), 1u);
  read_file();
  EXPECT_TRUE(tests::wait_until([this] { return drain() == 1; }));
  EXPECT_TRUE(tests::wait_until([this] { return drain() == 1; }));
  EXPECT_EQ(behind(), 0u);
}

// What it was asked for before that drain must be before it.
TEST_F(RecordedProcessTest, TakesNoMarkWhileItIsNotDrained) {
  tests::RingPen(session_, 0).write(tests::malloc_record(0x1000));
  table_->adopt_claims();
  fall_behind();
  drain();
  EXPECT_FALSE(process().add_mark("early", kCut, base::monotonic_ns()));
  read_file();
  const uint64_t events = process().tape().encoder().events();
  ASSERT_TRUE(tests::wait_until([this] { return drain() == 1; }));
  const auto mark = process().add_mark("late", kCut, base::monotonic_ns());
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->event, events + 1);
}

// A pid that means another process, say: its own would have dead locks after an exec.
TEST_F(RecordedProcessTest, IsReplacedByAnExecOnlyIfItsLocksAreDead) {
  table_->adopt_claims();
  std::atomic<int> readings = 0;
  const auto without_session = [&](uint32_t, WithPages) -> std::optional<ProcTexts> {
    ++readings;
    ProcTexts texts{"", "", {}};
    texts.has_session = false;
    return texts;
  };
  ProcReader reader(without_session);
  const auto take = [&] {
    const int before = readings;
    return tests::wait_until([&] {
      process().sample_if_due(base::monotonic_ns(), 1, reader);
      return readings >= before + 2;  // so the first of them was taken
    });
  };
  EXPECT_TRUE(take());
  EXPECT_FALSE(process().was_replaced());
  session_.view().process(0).lock.word = tests::kDeadOwner;
  EXPECT_TRUE(take());
  EXPECT_TRUE(process().was_replaced());
}

// The first reading began before a library was closed, and has it still.
TEST_F(RecordedProcessTest, TakesNoMapOfCodeThatWasClosedMeanwhile) {
  constexpr uint64_t kFirst = 64;
  constexpr uint64_t kRead = 128;
  table_->adopt_claims();
  ProcessSlot& slot = session_.view().process(0);
  std::vector<uint64_t> seen;  // by the thread that reads, as each reading begins
  std::atomic<size_t> readings = 0;
  const auto read = [&](uint32_t, WithPages) -> std::optional<ProcTexts> {
    seen.push_back(slot.code_map);
    if (seen.size() == 1) slot.code_map = after_a_close(slot.code_map, kFirst);
    readings = seen.size();
    return ProcTexts{"", "", {{}, kRead, 0}};
  };
  {
    ProcReader reader(read);
    EXPECT_TRUE(tests::wait_until([&] {
      process().sample_if_due(base::monotonic_ns(), 1, reader);
      return readings >= 3;
    }));
  }
  EXPECT_EQ(map_offset_of(seen.at(1)), kFirst);
  EXPECT_EQ(seen.at(2), with_map(seen.at(1), kRead));
}

}  // namespace
}  // namespace heaptape::recorder
