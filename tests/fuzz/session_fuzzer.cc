// A session's memory in the hands of hostile processes: slots, rings, notices and counters that say
// anything, claimed and given up in any order, and between them calls that processes of ours would
// log. Whatever comes, the collector ends with a whole tape for each process that it lists, and
// writes no file elsewhere.
#include <algorithm>
#include <filesystem>
#include <set>

#include "recorder/collector/live_gauge.h"
#include "recorder/collector/process_table.h"
#include "recorder/collector/unrecorded_list.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/whole_tape.h"
#include "tests/support/fake_session.h"
#include "tests/support/temp_dir.h"

namespace heaptape::fuzz {
namespace {

using namespace recorder;

// The parts that inputs write to.
constexpr uint32_t kSlots = 4;
constexpr uint32_t kUsedRings = 8;
constexpr uint32_t kUsedNotices = 2;
constexpr uint32_t kMostProcesses = 12;
constexpr uint64_t kTickNs = 500 * base::kMillisecondNs;

// One session and one server for all inputs: to map gigabytes takes long.
tests::FakeSession& session() {
  static tests::FakeSession* const shared = new tests::FakeSession;
  return *shared;
}

HandshakeServer& handshakes() {
  static HandshakeServer* const shared = HandshakeServer::open(nullptr, "fuzz-")->release();
  return *shared;
}

// Without an end where the word has no zero.
template <size_t kBytes>
void fill(char (&text)[kBytes], uint64_t word) {
  for (size_t at = 0; at < kBytes; at += sizeof word) std::memcpy(text + at, &word, sizeof word);
}

template <typename Part>
void clear(Part& part) {
  std::memset(static_cast<void*>(&part), 0, sizeof part);
}

void clear_session() {
  const SessionView view = session().view();
  clear(view.board());
  clear(view.lobby());
  clear(view.header());
  view.board().clock = Clock::kCounter;
  for (uint32_t i = 0; i < kUsedNotices; ++i) clear(view.notice(i));
  for (uint32_t i = 0; i < kSlots; ++i) clear(view.process(i));
  for (uint32_t i = 0; i < kUsedRings; ++i) {
    clear(view.ring(i));
    std::memset(view.words(i), 0, kRingBytes);
  }
}

class Play {
 public:
  Play(Input input, const std::filesystem::path& directory)
      : input_(input),
        directory_(directory),
        pools_(session().view()),
        table_(backlog_, pools_, handshakes(), directory_ / "run.tape") {
    table_.count_sizes();
  }

  void run() {
    while (!input_.empty()) act();
    while (!table_.processes().empty()) finish_first();
    table_.wait_for_tapes();
    check_files();
  }

 private:
  void act() {
    const uint8_t command = input_.byte();
    const uint32_t which = command / 16;
    switch (command % 16) {
      case 0:
        return join(which % kSlots);
      case 1:
        return claim_ring(which % kUsedRings);
      case 2:
        return poke(session().view().header());
      case 3:
        return poke(session().view().process(which % kSlots));
      case 4:
        return poke(session().view().ring(which % kUsedRings));
      case 5:
        return notify(which % kUsedNotices);
      case 6:
        session().view().words(which % kUsedRings)[input_.word() % kRingWords] = input_.word();
        return;
      case 7:
        return take_turn();
      case 8:
        return end_gone();
      case 9:
        table_.free_what_the_dead_left();
        return;
      case 10:
        return die(which);
      case 11:
        if (!table_.processes().empty()) finish_first();
        return;
      default:
        return log(which % kUsedRings);
    }
  }

  // In the slot that a process of ours would have taken, or that of another.
  void join(uint32_t slot) {
    const uint8_t flags = input_.byte();
    ProcessSlot& process = session().join(slot, tests::kNoPid + flags / 16, flags % 4);
    process.serial = input_.byte() % 8;
    process.parent_serial = input_.byte() % 8;
    const uint64_t text = input_.word();
    fill(process.program, text);
    fill(process.allocator.path, text);
    fill(process.allocator.family, text);
  }

  void claim_ring(uint32_t index) {
    RingHeader& ring = session().view().ring(index);
    if (ring.state != RingState::kFree) return;
    tests::RingPen(session(), index, input_.byte() % (kSlots + 1));
    ring.head = 0;
  }

  // A call with one of few blocks, where the ring's head is.
  void log(uint32_t index) {
    RingHeader& ring = session().view().ring(index);
    const uint8_t what = input_.byte();
    Record record = tests::malloc_record(16 * (what % 8 + 1), what < 128 ? 0 : ++stamp_);
    if (what / 8 % 2 != 0) record = tests::free_record(record.address, record.stamp);
    uint64_t head = ring.head;
    for (const uint64_t word : tests::words_of(record)) {
      session().view().words(index)[head++ % kRingWords] = word;
    }
    ring.head = head;
  }

  // A value anywhere in a part: a small one, or any.
  template <typename Part>
  void poke(Part& part) {
    const size_t words = sizeof part / sizeof(uint64_t);
    const size_t at = input_.byte() % words;
    const uint8_t small = input_.byte();
    const uint64_t value = small < 255 ? small : input_.word();
    std::memcpy(reinterpret_cast<char*>(&part) + at * sizeof value, &value, sizeof value);
  }

  void notify(uint32_t index) {
    Notice& notice = session().view().notice(index);
    notice.reason = static_cast<Unrecorded>(input_.byte());
    notice.times = static_cast<int32_t>(input_.word());
    fill(notice.path, input_.word());
    notice.state = NoticeState::kReady;
  }

  void die(uint32_t which) {
    const SessionView view = session().view();
    if (which < kSlots) {
      view.process(which).lock.word = tests::kDeadOwner;
    } else {
      view.ring(which % kUsedRings).lock.word = tests::kDeadOwner;
    }
  }

  // As Collector::run() does. No more processes than that: each has a file.
  void take_turn() {
    if (table_.manifest().size() >= kMostProcesses) return;
    now_ns_ += kTickNs;
    table_.adopt_claims();
    backlog_.pull_half_full();
    for (const auto& [slot, process] : table_.processes()) {
      process->begin_round(stamp_, now_ns_);
      process->work(100);
    }
    unrecorded_.collect(session().view());
    gauge_.read(table_, now_ns_);
  }

  void end_gone() {
    for (const uint32_t slot : table_.find_gone()) {
      table_.end(slot, schema::EndReason::kExited, -1);
    }
  }

  void finish_first() {
    const auto& [slot, process] = *table_.processes().begin();
    if (process->is_gone()) {
      table_.end(slot, schema::EndReason::kExited, 0);
    } else {
      table_.leave(slot, stamp_);
    }
  }

  void check_files() {
    std::set<std::string> listed;
    for (const schema::ManifestProcess& process : table_.manifest()) {
      HEAPTAPE_CHECK(listed.insert(process.tape).second);
      check_whole_tape(directory_ / process.tape, process.events);
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      HEAPTAPE_CHECK(listed.contains(entry.path().filename()));
    }
    const schema::Manifest manifest{{}, table_.manifest(), unrecorded_.entries()};
    HEAPTAPE_CHECK(schema::to_json(manifest).ok());
  }

  Input input_;
  const std::filesystem::path directory_;
  uint64_t stamp_ = 1000;
  uint64_t now_ns_ = base::monotonic_ns();
  Backlog backlog_;
  Pools pools_;
  ProcessTable table_;
  UnrecordedList unrecorded_;
  LiveGauge gauge_{now_ns_};
};

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const heaptape::tests::TempDir dir;
  heaptape::fuzz::clear_session();
  heaptape::fuzz::Play(heaptape::fuzz::Input(data, size), dir.path()).run();
  return 0;
}
