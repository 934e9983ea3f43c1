// heaptrack's recordings: raw (heaptrack --raw) as the program writes it, and interpreted, as
// heaptrack_interpret writes it and heaptrack_print reads it. The formats are those of heaptrack
// 1.4 (src/track/libheaptrack.cpp, src/interpret/heaptrack_interpret.cpp); all numbers are
// hexadecimal:
//   v HEAPTRACK FORMAT    the versions; comes first
//   X COMMAND LINE
//   + SIZE TRACE ADDRESS  an allocation, raw              - ADDRESS  a release, raw
//   a SIZE TRACE          the next kind of allocation, interpreted
//   + KIND                an allocation of that kind      - KIND     a release of one
//   c MILLISECONDS        the time since the beginning
// and lines about stacks, modules, strings and resident memory, which are skipped. A realloc is a
// release and an allocation. An interpreted trace does not say which block of a kind is released:
// the newest is taken.
#include <deque>
#include <unordered_map>
#include <vector>

#include "recorder/import/text_trace.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_words.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

class HeaptrackLines {
 public:
  LineKind parse(std::string_view line, TraceCall& call) {
    if (line.empty()) return LineKind::kNothing;
    TraceWords words(line.substr(1));
    switch (line.front()) {
      case '+':
        return is_interpreted_ ? allocate_kind(words, call) : allocate(words, call);
      case '-':
        return is_interpreted_ ? release_kind(words, call) : release(words, call);
      case 'a':
        return add_kind(words);
      case 'c':
        return take_time(words);
      case 'v':
      case 'x':
      case 'X':
      case 'I':
      case 'i':
      case 's':
      case 't':
      case 'm':
      case 'R':
      case 'S':
      case 'A':
      case '#':
        return LineKind::kNothing;
      default:
        return LineKind::kMalformed;
    }
  }
  bool is_interpreted() const { return is_interpreted_; }

 private:
  // The allocations of an interpreted trace with the same size and stack.
  struct Kind {
    uint64_t size = 0;
    std::vector<uint64_t> live;  // keys
  };

  static bool number(TraceWords& words, uint64_t& value) {
    return words.blanks() && words.hex(value);
  }
  LineKind call_of(TraceCall& call) const {
    call.time_ns = time_ns_;
    return LineKind::kCall;
  }
  LineKind allocate(TraceWords& words, TraceCall& call) {
    uint64_t trace = 0;
    const bool is_whole = number(words, call.size) && number(words, trace) &&
                          number(words, call.block) && words.is_done();
    return is_whole ? call_of(call) : LineKind::kMalformed;
  }
  LineKind release(TraceWords& words, TraceCall& call) {
    call.op = Op::kFree;
    return number(words, call.old_block) && words.is_done() ? call_of(call) : LineKind::kMalformed;
  }
  LineKind add_kind(TraceWords& words) {
    uint64_t size = 0;
    uint64_t trace = 0;
    if (!number(words, size) || !number(words, trace)) return LineKind::kMalformed;
    is_interpreted_ = true;
    kinds_.push_back({size, {}});
    return LineKind::kNothing;
  }
  Kind* take_kind(TraceWords& words) {
    uint64_t index = 0;
    const bool is_whole = number(words, index) && words.is_done();
    return is_whole && index < kinds_.size() ? &kinds_[index] : nullptr;
  }
  LineKind allocate_kind(TraceWords& words, TraceCall& call) {
    Kind* const kind = take_kind(words);
    if (kind == nullptr) return LineKind::kMalformed;
    call.size = kind->size;
    call.block = new_key();
    kind->live.push_back(call.block);
    return call_of(call);
  }
  LineKind release_kind(TraceWords& words, TraceCall& call) {
    Kind* const kind = take_kind(words);
    if (kind == nullptr) return LineKind::kMalformed;
    call.op = Op::kFree;
    call.old_block = kind->live.empty() ? new_key() : kind->live.back();
    if (!kind->live.empty()) kind->live.pop_back();
    return call_of(call);
  }
  LineKind take_time(TraceWords& words) {
    uint64_t milliseconds = 0;
    if (!number(words, milliseconds)) return LineKind::kMalformed;
    time_ns_ = product(milliseconds, 1'000'000);
    return LineKind::kNothing;
  }
  uint64_t new_key() { return ++last_key_; }

  bool is_interpreted_ = false;
  std::deque<Kind> kinds_;
  uint64_t last_key_ = 0;
  uint64_t time_ns_ = 0;
};

// The arguments after "X ", which heaptrack joins with blanks.
std::vector<std::string> command_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

base::Result<TraceOutline> look(TraceInput& input) {
  const auto bytes = input.peek(TraceInput::kMaxLineBytes);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("v ")) {
    return base::Error::foreign("it does not begin with a line like 'v 10400 3'");
  }
  TraceOutline outline;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with("X ")) outline.command_line = command_of(line.substr(2));
    if (line.starts_with("a ")) outline.absent |= absent_bits(Absent::kAddresses);
    if (line.starts_with("a ") || line.starts_with("+ ")) break;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return outline;
}

}  // namespace

const TraceFormat& heaptrack_format() {
  static const TraceFormat format{
      .name = "heaptrack",
      .description = "heaptrack's recordings, raw (--raw) or interpreted; stacks are omitted",
      .absent = absent_bits(Absent::kThreads, Absent::kAlignments, Absent::kResizes,
                            Absent::kEntryPoints, Absent::kFailures),
      .look = look,
      .read = [](TraceInput& input,
                 ImportedEvents& events) { read_lines(input, events, HeaptrackLines()); },
      .may_lack = "; interpreted also addresses"};
  return format;
}

}  // namespace heaptape::recorder
