// Firefox's logalloc, as the library writes it and as logalloc_munge.py prepares it for
// logalloc-replay. The format is that of memory/replace/logalloc in mozilla-central (README,
// LogAlloc.cpp, replay/Replay.cpp of 2024):
//   PID TID FUNCTION(ARGUMENTS)=RESULT
// Blocks are addresses or, if munged, numbers after '#'. Logs before Firefox 38 have no TID.
// A log may cover several processes: the tape is that of the first.
#include <optional>

#include "recorder/import/text_trace.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_words.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

struct Function {
  std::string_view name;
  Op op;
  enum class Arguments : uint8_t {
    kSize,
    kAlignmentAndSize,
    kCountAndSize,
    kBlockAndSize,
    kBlock
  } arguments;
};

constexpr Function kFunctions[] = {
    {"malloc", Op::kMalloc, Function::Arguments::kSize},
    {"free", Op::kFree, Function::Arguments::kBlock},
    {"realloc", Op::kRealloc, Function::Arguments::kBlockAndSize},
    {"calloc", Op::kCalloc, Function::Arguments::kCountAndSize},
    {"posix_memalign", Op::kPosixMemalign, Function::Arguments::kAlignmentAndSize},
    {"aligned_alloc", Op::kAlignedAlloc, Function::Arguments::kAlignmentAndSize},
    {"memalign", Op::kMemalign, Function::Arguments::kAlignmentAndSize},
    {"valloc", Op::kValloc, Function::Arguments::kSize},
};

const Function* find_function(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

class LogallocLines {
 public:
  LineKind parse(std::string_view line, TraceCall& call) {
    if (is_blank(line)) return LineKind::kNothing;
    TraceWords words(line);
    uint64_t process = 0;
    std::string_view name;
    if (!words.decimal(process) || !words.text(" ")) return LineKind::kMalformed;
    call.thread = process;
    if (words.decimal(call.thread) && !words.text(" ")) return LineKind::kMalformed;
    if (!words.until('(', name)) return LineKind::kMalformed;
    if (name == "jemalloc_stats") return LineKind::kNothing;
    const Function* const function = find_function(name);
    if (function == nullptr || !take(*function, words, call)) return LineKind::kMalformed;
    if (!process_) process_ = process;
    return *process_ == process ? LineKind::kCall : LineKind::kOtherProcess;
  }
  bool is_munged() const { return is_munged_; }

 private:
  bool take(const Function& function, TraceWords& words, TraceCall& call) {
    call.op = function.op;
    if (!take_arguments(function, words, call) || !words.text(")")) return false;
    if (function.op == Op::kFree) return words.is_done();
    // A munged log has no result for a call that failed.
    if (words.is_done()) return true;
    return words.text("=") && block(words, call.block) && words.is_done();
  }
  bool take_arguments(const Function& function, TraceWords& words, TraceCall& call) {
    uint64_t count = 0;
    switch (function.arguments) {
      case Function::Arguments::kSize:
        return words.decimal(call.size);
      case Function::Arguments::kAlignmentAndSize:
        return words.decimal(call.alignment) && words.text(",") && words.decimal(call.size);
      case Function::Arguments::kCountAndSize:
        if (!words.decimal(count) || !words.text(",") || !words.decimal(call.size)) return false;
        call.size = product(count, call.size);
        return true;
      case Function::Arguments::kBlockAndSize:
        return block(words, call.old_block) && words.text(",") && words.decimal(call.size);
      case Function::Arguments::kBlock:
        return block(words, call.old_block);
    }
    return false;
  }
  bool block(TraceWords& words, uint64_t& key) {
    if (!words.text("#")) return words.hex(key);
    is_munged_ = true;
    return words.decimal(key);
  }

  std::optional<uint64_t> process_;
  bool is_munged_ = false;
};

base::Result<TraceOutline> look(TraceInput& input) {
  LogallocLines lines;
  const auto call = first_call<LogallocLines&>(input, lines);
  if (!call) {
    return base::Error::foreign("none of its first lines looks like '18545 18545 malloc(32)=0x10'");
  }
  if (!lines.is_munged()) return TraceOutline();
  return TraceOutline{.absent = absent_bits(Absent::kAddresses, Absent::kFailures)};
}

}  // namespace

const TraceFormat& logalloc_format() {
  static const TraceFormat format{
      .name = "logalloc",
      .description = "Firefox's logalloc, raw or munged",
      .absent = absent_bits(Absent::kTimes, Absent::kEntryPoints),
      .look = look,
      .read = [](TraceInput& input,
                 ImportedEvents& events) { read_lines(input, events, LogallocLines()); },
      .may_lack = "; munged also addresses, calls that failed"};
  return format;
}

}  // namespace heaptape::recorder
