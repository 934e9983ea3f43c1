// The .ops files of WebKit's MallocBench. The format is that of Interpreter.h and .cpp in
// PerformanceTests/MallocBench (since 2017; earlier, threadId and alignLog2 were padding): records
// of 24 bytes, no header. A slot holds a block, or nothing.
#include "recorder/import/record_trace.h"
#include "recorder/import/trace_format.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

struct BenchOp {
  enum Opcode : int32_t { kMalloc = 0, kFree = 1, kRealloc = 2, kAlignedMalloc = 3 };

  int32_t opcode;
  uint16_t thread;  // 0: the first
  uint16_t alignment_log2;
  uint64_t slot;
  uint64_t size;
};
static_assert(sizeof(BenchOp) == 24);

class BenchOps {
 public:
  using Record = BenchOp;

  LineKind parse(const BenchOp& op, TraceCall& call) {
    if (op.slot == UINT64_MAX) return LineKind::kMalformed;
    call.thread = op.thread;
    call.size = op.size;
    const uint64_t key = op.slot + 1;
    switch (op.opcode) {
      case BenchOp::kMalloc:
        call.block = key;
        return LineKind::kCall;
      case BenchOp::kAlignedMalloc:
        call.op = Op::kMemalign;
        call.block = key;
        call.alignment = uint64_t{1} << (op.alignment_log2 & 63);
        return op.alignment_log2 < 64 ? LineKind::kCall : LineKind::kMalformed;
      case BenchOp::kRealloc:
        call.op = Op::kRealloc;
        call.block = call.old_block = key;
        return LineKind::kCall;
      case BenchOp::kFree:
        call.op = Op::kFree;
        call.size = 0;
        call.old_block = key;
        return LineKind::kCall;
      default:
        return LineKind::kMalformed;
    }
  }
};

base::Result<TraceOutline> look(TraceInput& input) {
  if (begins_with_records(input, BenchOps())) return TraceOutline();
  return base::Error::foreign("its first 24 bytes are not an operation 0 to 3");
}

}  // namespace

const TraceFormat& mallocbench_format() {
  static const TraceFormat format{
      .name = "mallocbench",
      .description = "WebKit's MallocBench (.ops)",
      .absent =
          absent_bits(Absent::kAddresses, Absent::kTimes, Absent::kEntryPoints, Absent::kFailures),
      .look = look,
      .read = [](TraceInput& input,
                 ImportedEvents& events) { read_records(input, events, BenchOps()); },
      .may_lack = "; those of before 2017 also threads, alignments",
      .place_name = "byte"};
  return format;
}

}  // namespace heaptape::recorder
