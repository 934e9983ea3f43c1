// MALT's trace (trace:enabled): a record for each freed block, in the order of the frees. The
// format is that of AllocTraceFile.hpp in MALT 1.2.2 on a 64-bit machine: records of 40 bytes, no
// header.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/address/address_range.h"
#include "recorder/import/record_trace.h"
#include "recorder/import/trace_format.h"

namespace heaptape::recorder {
namespace {

struct Birth {
  uint64_t born = 0;  // in any unit of time
  uint64_t freed = 0;
  uint64_t address = 0;
  uint64_t size = 0;
};

// Blocks in order of allocation. Sorts a few in memory, and more in runs in a temporary file, which
// are merged. Memory is that of a run and of kMergedBirths, 24 MiB, and 2 KiB for each run once
// there are many. A run has 262,144 blocks. One thread.
class SortedBirths {
 public:
  // All blocks first. False if the temporary file is full.
  bool add(const Birth& birth);
  bool start();
  // Then each in turn. False at the end, and if the file cannot be read.
  bool next(Birth& birth);

 private:
  static constexpr size_t kRunBirths = size_t{1} << 18;
  static constexpr size_t kMergedBirths = size_t{1} << 19;  // in memory, of all runs
  static constexpr size_t kLeastBuffer = 64;                // births of a run

  struct Run {
    uint64_t begin = 0;  // in the file, in births
    uint64_t end = 0;
    std::vector<Birth> buffer;
    size_t at = 0;  // in buffer
  };
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool write_run();
  bool refill(Run& run);
  // Whether one run's next birth comes after another's: a heap puts the greatest first.
  auto behind() const {
    return [this](size_t a, size_t b) { return is_behind(runs_[a], runs_[b]); };
  }
  static bool is_behind(const Run& a, const Run& b);

  std::vector<Birth> collected_;
  std::vector<Run> runs_;
  std::vector<size_t> heap_;  // runs with births left
  std::unique_ptr<std::FILE, Closer> file_;
  uint64_t written_ = 0;
};

bool is_before(const Birth& a, const Birth& b) {
  return std::tie(a.born, a.freed, a.address, a.size) <
         std::tie(b.born, b.freed, b.address, b.size);
}

bool SortedBirths::is_behind(const Run& a, const Run& b) {
  return is_before(b.buffer[b.at], a.buffer[a.at]);
}

bool SortedBirths::write_run() {
  std::ranges::sort(collected_, is_before);
  if (!file_) file_.reset(std::tmpfile());
  if (!file_) return false;
  const size_t count = collected_.size();
  if (std::fwrite(collected_.data(), sizeof(Birth), count, file_.get()) != count) return false;
  runs_.push_back({written_, written_ + count, {}, 0});
  written_ += count;
  collected_.clear();
  return true;
}

bool SortedBirths::add(const Birth& birth) {
  if (collected_.size() == kRunBirths && !write_run()) return false;
  collected_.push_back(birth);
  return true;
}

bool SortedBirths::start() {
  if (runs_.empty()) {
    std::ranges::sort(collected_, is_before);
    runs_.push_back({0, 0, std::move(collected_), 0});
  } else {
    if (!collected_.empty() && !write_run()) return false;
    if (std::fflush(file_.get()) != 0) return false;
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!runs_[i].buffer.empty() || refill(runs_[i])) heap_.push_back(i);
  }
  std::ranges::make_heap(heap_, behind());
  return true;
}

// Reads the next births of the run; false if it has none left.
bool SortedBirths::refill(Run& run) {
  const uint64_t room = std::max(kLeastBuffer, kMergedBirths / runs_.size());
  const auto count = static_cast<size_t>(std::min(room, run.end - run.begin));
  if (count == 0) return false;
  run.buffer.resize(count);
  run.at = 0;
  const auto offset = static_cast<off_t>(run.begin * sizeof(Birth));
  if (fseeko(file_.get(), offset, SEEK_SET) != 0) return false;
  run.begin += count;
  return std::fread(run.buffer.data(), sizeof(Birth), count, file_.get()) == count;
}

bool SortedBirths::next(Birth& birth) {
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, behind());
  Run& run = runs_[heap_.back()];
  birth = run.buffer[run.at++];
  if (run.at < run.buffer.size() || refill(run)) {
    std::ranges::push_heap(heap_, behind());
  } else {
    run.buffer = {};
    heap_.pop_back();
  }
  return true;
}

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
