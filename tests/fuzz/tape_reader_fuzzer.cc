// Any file as a tape: it is read to its end, or refused. A tape without damage reads the same
// however it is read.
#include <algorithm>

#include "base/address/address_range.h"
#include "schema/tape/tape_reader.h"
#include "tests/fuzz/memory_file.h"

namespace heaptape::fuzz {
namespace {

using schema::Event;
using schema::EventBatch;
using schema::TapeReader;

constexpr size_t kBatchEvents = 1000;

bool is_sound(const Event& event) {
  return schema::is_valid_op(static_cast<uint8_t>(event.op)) &&
         event.address < base::kAddressLimit && event.freed_address < base::kAddressLimit;
}

struct Reading {
  bool whole = false;  // there was no error
  std::vector<Event> events;
  std::vector<schema::FrameNumber> stacks;  // by event; empty: it has none
};

// A frame's caller comes before it, so that no stack goes on forever. A tape may say that it lost
// millions of frames in between.
void check_stacks(TapeReader& tape) {
  constexpr schema::FrameNumber kMostAtAnEnd = 10'000;
  const auto stacks = tape.read_stacks();
  if (!stacks.ok()) return;
  const schema::FrameNumber limit = stacks->limit();
  for (schema::FrameNumber number = 1; number < limit; ++number) {
    if (number == kMostAtAnEnd) number = std::max(number, limit - kMostAtAnEnd);
    const schema::Frame* const frame = stacks->find(number);
    HEAPTAPE_CHECK(frame == nullptr || frame->caller < number);
  }
}

// Everything from the event `from` on.
Reading read(TapeReader& tape, uint64_t from) {
  Reading reading;
  if (from != 0 && !tape.seek(from).ok()) return reading;
  EventBatch batch;
  uint64_t next = from;
  do {
    if (!tape.read(batch, kBatchEvents).ok()) return reading;
    if (batch.events.empty()) break;
    HEAPTAPE_CHECK(batch.first_event >= next && batch.events.size() <= kBatchEvents);
    for (const Event& event : batch.events) HEAPTAPE_CHECK(is_sound(event));
    HEAPTAPE_CHECK(batch.stacks.empty() || batch.stacks.size() == batch.events.size());
    next = batch.first_event + batch.events.size();
    HEAPTAPE_CHECK(next <= tape.events());
    reading.events.insert(reading.events.end(), batch.events.begin(), batch.events.end());
    reading.stacks.insert(reading.stacks.end(), batch.stacks.begin(), batch.stacks.end());
  } while (true);
  reading.whole = true;
  return reading;
}

Reading read(const std::string& path, TapeReader::OnDamage on_damage, uint64_t from = 0) {
  auto tape = TapeReader::open(path, on_damage);
  if (!tape.ok()) {
    HEAPTAPE_CHECK(!tape.error().message.empty());
    return {};
  }
  Reading reading = read(*tape, from);
  check_stacks(*tape);
  HEAPTAPE_CHECK(on_damage == TapeReader::OnDamage::kStop || reading.whole);
  return reading;
}

void fuzz(const std::string& path) {
  const Reading strict = read(path, TapeReader::OnDamage::kStop);
  const Reading lenient = read(path, TapeReader::OnDamage::kSkip);
  const uint64_t half = strict.events.size() / 2;
  const Reading second_half = read(path, TapeReader::OnDamage::kSkip, half);
  if (!strict.whole) return;
  HEAPTAPE_CHECK(lenient.events == strict.events && lenient.stacks == strict.stacks);
  HEAPTAPE_CHECK(std::equal(strict.events.begin() + static_cast<ptrdiff_t>(half),
                            strict.events.end(), second_half.events.begin(),
                            second_half.events.end()));
}

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static heaptape::fuzz::MemoryFile file;
  file.set({data, size});
  heaptape::fuzz::fuzz(file.path());
  return 0;
}
