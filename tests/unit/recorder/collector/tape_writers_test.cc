// The threads that write the tapes. A FIFO that nobody reads is a file that takes for ever.
#include "recorder/collector/tape_writers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

class TapeWritersTest : public testing::Test {
 protected:
  TapeWritersTest() {
    EXPECT_EQ(mkfifo(dir_.file("slow").c_str(), 0600), 0);
    fifo_.reset(open(dir_.file("slow").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    const char page[4096] = {};
    while (write(fifo_.get(), page, sizeof page) > 0) continue;  // full until it is read
  }
  ~TapeWritersTest() override {
    read_slow_file();
    writers_.reset();
    done_ = true;
    reader_.join();
  }

  TapeStream stream(const std::string& name) {
    return TapeStream(*writers_, dir_.file(name), tests::sample_header());
  }
  // From now on somebody reads the FIFO.
  void read_slow_file() {
    if (reader_.joinable()) return;
    reader_ = std::thread([this] {
      char bytes[1 << 16];
      while (!done_) {
        if (read(fifo_.get(), bytes, sizeof bytes) <= 0) usleep(100);
      }
    });
  }
  static void fill(TapeStream& stream, uint32_t chunks) {
    for (uint64_t i = 0; i < uint64_t{chunks} * schema::kEventsPerChunk; ++i) {
      stream.encoder().append(tests::malloc_event(16, 0x1000 + i * 16));
    }
    stream.encoder().append(tests::malloc_event(16, 0x1000));
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(dir_.file(name)); }

  tests::TempDir dir_;
  base::Descriptor fifo_;
  std::atomic<bool> done_ = false;
  std::thread reader_;
  std::unique_ptr<TapeWriters> writers_ = std::make_unique<TapeWriters>();
};

TEST_F(TapeWritersTest, WriteTheSameBytesAsOneThread) {
  tests::Random random(1);
  const auto events = tests::plausible_events(random, schema::kEventsPerChunk * 20, 16, 3);
  tests::write_tape(dir_.file("expected"), events);
  TapeStream tape = stream("t");
  for (const schema::Event& event : events) tape.encoder().append(event);
  tape.finish(0, {});
  writers_->wait();
  EXPECT_TRUE(tests::read_bytes(dir_.file("t")) == tests::read_bytes(dir_.file("expected")));
}

TEST_F(TapeWritersTest, TellWhatBecameOfATape) {
  TapeStream tape = stream("t");
  tape.encoder().append(tests::malloc_event(16, 0x1000));
  tape.finish(7, {});
  const auto written = writers_->wait();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].id, 7u);
  EXPECT_EQ(written[0].summary->events, 1u);
  EXPECT_EQ(written[0].bytes, std::filesystem::file_size(dir_.file("t")));
}

TEST_F(TapeWritersTest, TellWhyATapeCouldNotBeWrittenAndWhatThatLost) {
  TapeStream tape = stream("no/such/folder/t");
  fill(tape, 2);
  tape.finish(0, {});
  const auto written = writers_->wait();
  EXPECT_EQ(written[0].summary.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(written[0].events, 2u * schema::kEventsPerChunk + 1);
}

TEST_F(TapeWritersTest, TellWhetherEffortPays) {
  TapeStream tape = stream("t");
  EXPECT_FALSE(tape.effort_pays());
  fill(tape, 1);
  EXPECT_TRUE(tests::wait_until([&tape] { return tape.effort_pays(); }));
  tests::Random random(1);
  for (const auto& event : tests::plausible_events(random, 2 * schema::kEventsPerChunk, 1000, 3)) {
    tape.encoder().append(event);
  }
  EXPECT_TRUE(tests::wait_until([&tape] { return !tape.effort_pays(); }));
  tape.finish(0, {});
}

TEST_F(TapeWritersTest, MakeNoFileBeforeThereIsSomethingToWrite) {
  TapeStream tape = stream("t");
  tape.encoder().append(tests::malloc_event(16, 0x1000));
  writers_->wait();
  EXPECT_FALSE(exists("t.partial"));
  tape.save();
  writers_->wait();
  EXPECT_TRUE(exists("t.partial"));
}

TEST_F(TapeWritersTest, HoldUpNoTapeForTheSlowFileOfAnother) {
  TapeStream slow = stream("slow");
  fill(slow, 1);
  TapeStream quick = stream("quick");
  fill(quick, 20);
  quick.finish(0, {});
  EXPECT_TRUE(tests::wait_until([this] { return exists("quick"); }));
}

TEST_F(TapeWritersTest, AreBehindWithTheTapeOfASlowFileOnly) {
  TapeStream slow = stream("slow");
  EXPECT_FALSE(slow.is_behind());
  fill(slow, 12);
  EXPECT_TRUE(slow.is_behind());
  EXPECT_FALSE(stream("quick").is_behind());
  read_slow_file();
  EXPECT_TRUE(tests::wait_until([&] { return !slow.is_behind(); }));
}

TEST_F(TapeWritersTest, KeepNoSecondSaveWaiting) {
  TapeStream slow = stream("slow");
  slow.encoder().append(tests::malloc_event(16, 0x1000));
  EXPECT_TRUE(slow.save());
  slow.encoder().append(tests::malloc_event(16, 0x2000));
  EXPECT_FALSE(slow.save());
}

TEST_F(TapeWritersTest, SaveAgainOnceTheLastSaveIsWritten) {
  TapeStream tape = stream("t");
  for (int i = 0; i < 3; ++i) {
    tape.encoder().append(tests::malloc_event(16, 0x1000));
    EXPECT_TRUE(tape.save()) << i;
    writers_->wait();
  }
}

}  // namespace
}  // namespace heaptape::recorder
