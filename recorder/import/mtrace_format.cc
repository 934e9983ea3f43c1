// The output of glibc's mtrace(3). The format is that of malloc/mtrace-impl.c in glibc 2.36:
//   = Start          = End
//   @ CALLER + ADDRESS SIZE     an allocation           @ CALLER - ADDRESS     a free
//   @ CALLER < ADDRESS          a realloc of this block,
//   @ CALLER > ADDRESS SIZE     which became this one, in the next line
//   @ CALLER ! ADDRESS SIZE     a realloc that failed
// CALLER, which may have blanks, ends in "[ADDRESS]"; if it is unknown, the line begins with the
// sign.
#include <string>

#include "recorder/import/text_trace.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_words.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

// The sign and the rest.
std::string_view without_caller(std::string_view line) {
  if (!line.starts_with("@ ")) return line;
  const size_t end = line.rfind("] ");
  return end == std::string_view::npos ? std::string_view() : line.substr(end + 2);
}

class MtraceLines {
 public:
  LineKind parse(std::string_view line, TraceCall& call) {
    if (is_blank(line) || line.starts_with("=")) return LineKind::kNothing;
    TraceWords words(without_caller(line));
    const char sign = words.rest().empty() ? '\0' : words.rest().front();
    uint64_t address = 0;
    if (!words.text({&sign, 1}) || !words.blanks() || !words.hex(address)) {
      return LineKind::kMalformed;
    }
    const bool has_size = sign == '+' || sign == '>' || sign == '!';
    if (has_size && !(words.blanks() && words.hex(call.size))) return LineKind::kMalformed;
    if (!words.is_done()) return LineKind::kMalformed;
    return take(sign, address, call);
  }

 private:
  LineKind take(char sign, uint64_t address, TraceCall& call) {
    const uint64_t resized = std::exchange(resized_, 0);
    switch (sign) {
      case '+':
        call.block = address;
        return LineKind::kCall;
      case '-':
        call.op = Op::kFree;
        call.old_block = address;
        return LineKind::kCall;
      case '<':
        resized_ = address;
        return LineKind::kNothing;
      case '>':
        call.op = Op::kRealloc;
        call.old_block = resized;
        call.block = address;
        return resized == 0 ? LineKind::kMalformed : LineKind::kCall;
      case '!':
        call.op = Op::kRealloc;
        call.old_block = address;
        return LineKind::kCall;
      default:
        return LineKind::kMalformed;
    }
  }

  uint64_t resized_ = 0;  // in the line before, the first of a realloc
};

base::Result<TraceOutline> look(TraceInput& input) {
  const auto call = first_call(input, MtraceLines());
  if (!call) {
    return base::Error::foreign(
        "none of its first lines looks like '@ ./a.out:[0x1149] + 0x10 0x20'");
  }
  return TraceOutline();
}

}  // namespace

const TraceFormat& mtrace_format() {
  static const TraceFormat format{.name = "mtrace",
                                  .description = "glibc's mtrace(3) (MALLOC_TRACE)",
                                  .absent = absent_bits(Absent::kThreads, Absent::kAlignments,
                                                        Absent::kTimes, Absent::kEntryPoints),
                                  .look = look,
                                  .read = [](TraceInput& input, ImportedEvents& events) {
                                    read_lines(input, events, MtraceLines());
                                  }};
  return format;
}

}  // namespace heaptape::recorder
