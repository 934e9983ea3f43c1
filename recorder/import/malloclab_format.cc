// The traces of the malloc lab (Bryant and O'Hallaron, Computer Systems: A Programmer's
// Perspective; read_trace() of its mdriver.c): numbers, one a line, that describe the trace, then
//   a ID SIZE     r ID SIZE     f ID
// f -1 frees NULL.
#include "recorder/import/text_trace.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_words.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

class MalloclabLines {
 public:
  LineKind parse(std::string_view line, TraceCall& call) {
    if (is_blank(line)) return LineKind::kNothing;
    TraceWords words(line);
    uint64_t number = 0;
    if (!has_calls_ && words.decimal(number) && words.is_done()) return LineKind::kNothing;
    has_calls_ = true;
    const char sign = line.front();
    if (!words.text({&sign, 1}) || !words.blanks()) return LineKind::kMalformed;
    if (sign == 'f' && words.text("-1")) {
      call.op = Op::kFree;
      return words.is_done() ? LineKind::kCall : LineKind::kMalformed;
    }
    if (!words.decimal(number) || number == UINT64_MAX) return LineKind::kMalformed;
    return take(sign, number + 1, words, call) && words.is_done() ? LineKind::kCall
                                                                  : LineKind::kMalformed;
  }

 private:
  static bool take(char sign, uint64_t key, TraceWords& words, TraceCall& call) {
    if (sign == 'f') {
      call.op = Op::kFree;
      call.old_block = key;
      return true;
    }
    call.op = sign == 'r' ? Op::kRealloc : Op::kMalloc;
    if (sign == 'r') call.old_block = key;
    call.block = key;
    return (sign == 'a' || sign == 'r') && words.blanks() && words.decimal(call.size);
  }

  bool has_calls_ = false;  // past the numbers at the beginning
};

base::Result<TraceOutline> look(TraceInput& input) {
  const auto call = first_call(input, MalloclabLines());
  if (!call) return base::Error::foreign("none of its first lines looks like 'a 0 512'");
  return TraceOutline();
}

}  // namespace

const TraceFormat& malloclab_format() {
  static const TraceFormat format{
      .name = "malloclab",
      .description = "the malloc lab's .rep",
      .absent = absent_bits(Absent::kThreads, Absent::kAddresses, Absent::kAlignments,
                            Absent::kTimes, Absent::kEntryPoints, Absent::kFailures),
      .look = look,
      .read = [](TraceInput& input, ImportedEvents& events) {
        read_lines(input, events, MalloclabLines());
      }};
  return format;
}

}  // namespace heaptape::recorder
