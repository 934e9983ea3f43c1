// The collector's end of the rings while their producers are hostile: good records, and between
// them words, positions and counts that no producer of ours writes. Whatever comes, the collector
// comes to an end and its tape is whole.
#include <sanitizer/asan_interface.h>

#include <optional>

#include "recorder/collector/ring_merge.h"
#include "schema/tape/tape_writer.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/whole_tape.h"
#include "tests/support/fake_session.h"
#include "tests/support/temp_dir.h"

namespace heaptape::fuzz {
namespace {

using namespace recorder;
using Merge = RingMerge;

constexpr uint32_t kThreads = 4;
constexpr uint32_t kSlot = 0;
constexpr uint64_t kTickNs = 50'000'000;

// Every second ring, so that a read beyond the end of one lands in poisoned words.
constexpr uint32_t ring_of(uint32_t thread) {
  return 2 * thread;
}

// One session for all inputs: to map gigabytes takes long.
tests::FakeSession& session() {
  static tests::FakeSession* const shared = [] {
    auto* const made = new tests::FakeSession;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      __asan_poison_memory_region(made->view().words(ring_of(thread) + 1), kRingBytes);
    }
    return made;
  }();
  return *shared;
}

void clear(const SessionView& view) {
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    std::memset(static_cast<void*>(&view.ring(ring_of(thread))), 0, sizeof(RingHeader));
    std::memset(view.words(ring_of(thread)), 0, kRingBytes);
  }
  std::memset(static_cast<void*>(&view.process(kSlot)), 0, sizeof(ProcessSlot));
}

std::unique_ptr<schema::TapeWriter> new_tape(const std::string& path) {
  auto writer = schema::TapeWriter::create(path, {});
  HEAPTAPE_CHECK(writer.ok());
  return std::move(*writer);
}

class Play {
 public:
  Play(Input input, const std::string& path)
      : input_(input),
        path_(path),
        tape_(new_tape(path)),
        merge_(backlog_, session().view(), kSlot, tape_->encoder(), now_ns_) {
    clear(session().view());
    session().join(kSlot, 1);
    add_thread(0);
  }

  void run() {
    while (!input_.empty()) act();
    merge_.drain(Merge::kEverything, now_ns_);
    merge_.finish_times();
    const auto written = tape_->finish(merge_.collect_summary(now_ns_));
    HEAPTAPE_CHECK(written.ok());
    merge_.free_rings(RingMerge::Free::kAll);
    check_whole_tape(path_, written->events);
    std::filesystem::remove(path_);
  }

 private:
  void act() {
    const uint8_t command = input_.byte();
    const uint32_t thread = command >> 6;
    if (!pens_[thread]) return add_thread(thread);
    tests::RingPen& pen = *pens_[thread];
    switch (command % 16) {
      case 0:
        return drain();
      case 1:
        return free_rings();
      case 2:
        pen.end_segment();
        return;
      case 3:
        pen.write_words({input_.word()});
        return;
      case 4:
        session().view().words(ring_of(thread))[input_.word() % kRingWords] = input_.word();
        return;
      case 5:
        return disturb(pen.header());
      case 6:
        return repeat(pen);
      case 7:
        tape_->save();
        return;
      case 8:
        return steer(pen);
      case 9:
        return map(pen);
      default:
        pen.write(next_record());
    }
  }

  void add_thread(uint32_t thread) {
    session().view().ring(ring_of(thread)).state = RingState::kFree;
    pens_[thread].emplace(session(), ring_of(thread), kSlot);
    merge_.add_ring(ring_of(thread));
  }

  // One in four with an address that is anything; the others from few, so that blocks meet.
  Record next_record() {
    Record record;
    const uint8_t op = input_.byte();
    const uint8_t shape = input_.byte();
    record.op = static_cast<Op>(op % schema::kOpLimit);
    if (!schema::is_valid_op(op % schema::kOpLimit)) record.op = Op::kMalloc;
    const bool wild = shape % 4 == 0;
    record.address = wild ? input_.word() : 16 * (shape / 4 % 8);
    record.old_address = wild ? input_.word() : 16 * (shape / 32);
    record.size = input_.byte();
    record.alignment = input_.byte();
    if (op / schema::kOpLimit != 0) {
      record.stamp = clock_ += input_.byte();
      record.begin_stamp = clock_ - input_.byte();
    }
    return record;
  }

  // Few of the ops exist.
  void steer(tests::RingPen& pen) {
    const uint8_t op = input_.byte();
    const bool is_stamped = op >= 128;
    std::vector<uint64_t> words = {
        steering_word(static_cast<schema::SteeringOp>(op % 64), is_stamped)};
    if (is_stamped) words.push_back(clock_ += input_.byte());
    words.insert(words.end(), {input_.word(), input_.byte()});
    pen.write_words(words);
  }

  // Ranges that overlap, and some that no process can have.
  void map(tests::RingPen& pen) {
    const uint8_t op = input_.byte();
    const bool is_stamped = op >= 128;
    const uint64_t page = input_.byte();
    const uint64_t address = op % 4 == 0 ? input_.word() >> kAddressShift : page * 4096;
    const uint64_t stack = input_.byte();
    std::vector<uint64_t> words = {mapping_word(address, is_stamped, stack != 0)};
    if (is_stamped) words.push_back(clock_ += input_.byte());
    const uint64_t kibibytes = input_.byte();
    const uint64_t bytes = op % 4 == 1 ? input_.word() : kibibytes * 1024;
    const uint64_t caller = input_.byte();
    words.insert(words.end(), {bytes, input_.byte(), caller << kAddressShift | op / 4 % 8});
    if (stack != 0) words.push_back(stack);
    pen.write_words(words);
  }

  // Enough of one record to come round the ring.
  void repeat(tests::RingPen& pen) {
    const Record record = next_record();
    for (uint32_t left = 16 * input_.byte(); left != 0 && pen.has_room(); --left) pen.write(record);
  }

  // What the producer shares with the collector besides records.
  void disturb(RingHeader& ring) {
    const uint8_t what = input_.byte();
    const uint64_t value = input_.word();
    switch (what % 8) {
      case 0:
        ring.head = value;
        return;
      case 1:
        ring.head += value % 1024;
        return;
      case 2:
        ring.tail = value;
        return;
      case 3:
        ring.producer_waits = static_cast<uint32_t>(value);
        return;
      case 4:
        ring.lost_full = ring.lost_stopped = ring.stalls = ring.stall_ns = value;
        return;
      case 6:
        ring.entered = value;
        ring.closed = static_cast<uint32_t>(value);
        return;
      case 5:
        ring.resizing = value % 2 == 0 ? value : 16 * (value / 2 % 8);
        return;
      default:
        ring.process_slot = static_cast<uint32_t>(value);
        session().view().process(kSlot).lost_ringless = value;
    }
  }

  void drain() {
    const uint8_t back = input_.byte();
    now_ns_ += back % 8 * kTickNs;
    backlog_.pull_half_full();
    merge_.begin_round(back == 0 ? Merge::kEverything : clock_ - back, now_ns_);
    merge_.work(back);
    merge_.has_written_up_to(clock_);
    merge_.trim_idle_rings(now_ns_, 1);
  }

  void free_rings() {
    const uint8_t gone = input_.byte();
    for (uint32_t thread = 0; thread < std::size(pens_); ++thread) {
      if (pens_[thread] && (gone >> thread & 1) != 0) {
        pens_[thread]->header().lock.word = tests::kDeadOwner;
      }
    }
    for (const uint32_t ring : merge_.free_dead_rings()) {
      pens_[ring / 2].reset();
    }
  }

  Input input_;
  std::string path_;
  uint64_t clock_ = 1000;
  uint64_t now_ns_ = 1;
  std::unique_ptr<schema::TapeWriter> tape_;
  Backlog backlog_;
  Merge merge_;
  std::optional<tests::RingPen> pens_[kThreads];
};

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const heaptape::tests::TempDir dir;
  heaptape::fuzz::Play(heaptape::fuzz::Input(data, size), dir.file("tape")).run();
  return 0;
}
