// MALT's trace (trace:enabled): a record for each freed block, in the order of the frees. The
// format is that of AllocTraceFile.hpp in MALT 1.2.2 on a 64-bit machine: records of 40 bytes, no
// header.
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/address/address_range.h"
#include "recorder/import/record_trace.h"
#include "recorder/import/sorted_births.h"
#include "recorder/import/trace_format.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

struct MaltChunk {
  uint64_t stack;
  uint64_t address;
  uint64_t size;
  uint64_t born;  // in ticks, like `lifetime`
  uint64_t lifetime;
};
static_assert(sizeof(MaltChunk) == 40);

bool is_possible(const MaltChunk& chunk) {
  return chunk.address != 0 && chunk.address < base::kAddressLimit &&
         chunk.size < base::kAddressLimit && chunk.lifetime < UINT64_MAX - chunk.born;
}

// For begins_with_records().
class MaltChunks {
 public:
  using Record = MaltChunk;
  LineKind parse(const MaltChunk& chunk, TraceCall& /*call*/) {
    return is_possible(chunk) ? LineKind::kCall : LineKind::kMalformed;
  }
};

// False if the temporary file is full.
bool collect(TraceInput& input, SortedBirths& births, ImportedEvents& events) {
  for (;;) {
    const uint64_t at = input.offset();
    const auto bytes = input.peek(sizeof(MaltChunk));
    if (bytes.empty()) return true;
    if (bytes.size() < sizeof(MaltChunk)) {
      events.add_malformed(at, "the trace ends within a record");
      return true;
    }
    const auto chunk = record_at<MaltChunk>(bytes);
    input.skip(sizeof(MaltChunk));
    if (!is_possible(chunk)) {
      events.add_malformed(at, "no process has such an address, size or time");
    } else if (!births.add({chunk.born, chunk.born + chunk.lifetime, chunk.address, chunk.size})) {
      return false;
    }
  }
}

// The frees of the live blocks.
class Frees {
 public:
  void add(const Birth& birth) { waiting_.push({birth.freed, birth.address}); }
  void make_up_to(uint64_t time, ImportedEvents& events) {
    for (; !waiting_.empty() && waiting_.top().first <= time; waiting_.pop()) {
      events.add({.op = Op::kFree, .old_block = waiting_.top().second});
    }
  }

 private:
  using Free = std::pair<uint64_t, uint64_t>;  // when, and which address
  std::priority_queue<Free, std::vector<Free>, std::greater<>> waiting_;
};

void read(TraceInput& input, ImportedEvents& events) {
  SortedBirths births;
  if (!collect(input, births, events) || !births.start()) {
    events.add_malformed(input.offset(), "the temporary file for sorting it is full");
    return;
  }
  // A free sorts before other events of its tick: its address may be handed out again.
  Frees frees;
  for (Birth birth; births.next(birth) && !events.is_stopped();) {
    frees.make_up_to(birth.born, events);
    events.add({.op = Op::kMalloc, .block = birth.address, .size = birth.size});
    frees.add(birth);
  }
  frees.make_up_to(UINT64_MAX, events);
}

base::Result<TraceOutline> look(TraceInput& input) {
  if (begins_with_records(input, MaltChunks())) return TraceOutline();
  return base::Error::foreign("its first 40 bytes are not a block of a 64-bit process");
}

}  // namespace

const TraceFormat& malt_format() {
  static const TraceFormat format{
      .name = "malt",
      .description = "MALT's trace of blocks (trace:enabled)",
      .absent = absent_bits(Absent::kThreads, Absent::kAlignments, Absent::kTimes, Absent::kResizes,
                            Absent::kEntryPoints, Absent::kFailures, Absent::kSurvivors),
      .look = look,
      .read = read,
      .place_name = "byte"};
  return format;
}

}  // namespace heaptape::recorder
