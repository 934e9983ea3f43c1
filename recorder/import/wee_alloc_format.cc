// The traces of wee_alloc's tests (test/traces, made by trace-malloc-free, 2018). The format is
// that of test/src/lib.rs:
//   Alloc(SIZE),     Free(N),     of the Nth allocation, counted from 0
#include "recorder/import/text_trace.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_words.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

class WeeAllocLines {
 public:
  LineKind parse(std::string_view line, TraceCall& call) {
    if (is_blank(line)) return LineKind::kNothing;
    TraceWords words(line);
    uint64_t number = 0;
    if (words.text("Alloc(")) {
      if (!words.decimal(call.size) || !ends(words)) return LineKind::kMalformed;
      call.block = ++allocations_;
      return LineKind::kCall;
    }
    const bool is_free = words.text("Free(") && words.decimal(number) && ends(words);
    if (!is_free || number == UINT64_MAX) return LineKind::kMalformed;
    call.op = Op::kFree;
    call.old_block = number + 1;
    return LineKind::kCall;
  }

 private:
  static bool ends(TraceWords& words) { return words.text("),") && words.is_done(); }

  uint64_t allocations_ = 0;
};

base::Result<TraceOutline> look(TraceInput& input) {
  if (first_call(input, WeeAllocLines())) return TraceOutline();
  return base::Error::foreign("none of its first lines looks like 'Alloc(32),'");
}

}  // namespace

const TraceFormat& wee_alloc_format() {
  static const TraceFormat format{
      .name = "wee_alloc",
      .description = "the traces of wee_alloc's tests",
      .absent =
          absent_bits(Absent::kThreads, Absent::kAddresses, Absent::kAlignments, Absent::kTimes,
                      Absent::kResizes, Absent::kEntryPoints, Absent::kFailures),
      .look = look,
      .read = [](TraceInput& input, ImportedEvents& events) {
        read_lines(input, events, WeeAllocLines());
      }};
  return format;
}

}  // namespace heaptape::recorder
