// Android: the output of libc's malloc debug with record_allocs, which memory_replay plays back.
// The format is that of system/extras/memory_replay (MemoryTrace.cpp, Android 14 to 16, and
// AllocParser.cpp before them):
//   TID: malloc ADDRESS SIZE            TID: memalign ADDRESS ALIGNMENT SIZE
//   TID: calloc ADDRESS COUNT SIZE      TID: realloc ADDRESS OLD SIZE
//   TID: free ADDRESS                   TID: thread_done 0x0
// each perhaps followed by its begin and end in nanoseconds (thread_done by its end alone).
#include "recorder/import/text_trace.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_words.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

// An arm64 pointer may have a tag in its upper byte, which is not part of the address.
uint64_t without_tag(uint64_t pointer) {
  return pointer & ((uint64_t{1} << 56) - 1);
}

class AndroidLines {
 public:
  LineKind parse(std::string_view line, TraceCall& call) {
    if (is_blank(line)) return LineKind::kNothing;
    TraceWords words(line);
    std::string_view name;
    uint64_t address = 0;
    const bool begins_well = words.decimal(call.thread) && words.text(":") && words.blanks() &&
                             words.until(' ', name) && words.hex(address);
    if (!begins_well) return LineKind::kMalformed;
    if (name == "thread_done") return LineKind::kThreadEnd;
    if (!take_arguments(name, without_tag(address), words, call)) return LineKind::kMalformed;
    return take_times(words, call) ? LineKind::kCall : LineKind::kMalformed;
  }

 private:
  static bool take_arguments(std::string_view name, uint64_t address, TraceWords& words,
                             TraceCall& call) {
    call.block = address;
    if (name == "malloc") return words.blanks() && words.decimal(call.size);
    if (name == "free") {
      call.op = Op::kFree;
      call.old_block = address;
      return true;
    }
    if (name == "calloc") {
      call.op = Op::kCalloc;
      uint64_t count = 0;
      if (!two(words, count, call.size)) return false;
      call.size = product(count, call.size);
      return true;
    }
    if (name == "memalign") {
      call.op = Op::kMemalign;
      return two(words, call.alignment, call.size);
    }
    call.op = Op::kRealloc;
    const bool is_whole = name == "realloc" && words.blanks() && words.hex(call.old_block) &&
                          words.blanks() && words.decimal(call.size);
    call.old_block = without_tag(call.old_block);
    return is_whole;
  }
  static bool two(TraceWords& words, uint64_t& first, uint64_t& second) {
    return words.blanks() && words.decimal(first) && words.blanks() && words.decimal(second);
  }
  // A call counts when it ended: by then an allocation exists and a free has begun.
  static bool take_times(TraceWords& words, TraceCall& call) {
    if (words.is_done()) return true;
    uint64_t begin = 0;
    uint64_t end = 0;
    if (!two(words, begin, end) || !words.is_done()) return false;
    call.time_ns = end;
    return true;
  }
};

base::Result<TraceOutline> look(TraceInput& input) {
  const auto call = first_call(input, AndroidLines());
  if (!call) return base::Error::foreign("none of its first lines looks like '1: malloc 0x10 32'");
  return TraceOutline{.absent = call->time_ns ? 0 : absent_bits(Absent::kTimes)};
}

}  // namespace

const TraceFormat& android_format() {
  static const TraceFormat format{
      .name = "android",
      .description = "Android's malloc debug (record_allocs), as memory_replay takes it",
      .absent = absent_bits(Absent::kEntryPoints),
      .look = look,
      .read = [](TraceInput& input,
                 ImportedEvents& events) { read_lines(input, events, AndroidLines()); },
      .may_lack = "; before Android 14 times"};
  return format;
}

}  // namespace heaptape::recorder
