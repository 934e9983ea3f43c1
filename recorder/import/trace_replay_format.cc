// The output of `postprocess` of malloc-trace-replay (Aliaksey Kandratsenka, 2018) for traces of
// gperftools' wip-malloc-tracing branch, which `replay` plays back. The format is that of
// instruction.h: records of 24 bytes, no header. A register holds a block, or nothing. Sizes are
// rounded up to multiples of 8.
#include "recorder/import/record_trace.h"
#include "recorder/import/trace_format.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

struct Instruction {
  enum Type : uint8_t {
    kMalloc = 0,
    kFree = 1,
    kFreeSized = 2,
    kMemalign = 3,
    kRealloc = 4,
    kSwitchThread = 5,
    kKillThread = 6,
    kSetTime = 7,
  };

  uint64_t type_and_register;  // 8 and 56 bits
  uint64_t first;              // size, new register, thread or nanoseconds
  uint64_t second;             // alignment, new size or processor
};
static_assert(sizeof(Instruction) == 24);

class Instructions {
 public:
  using Record = Instruction;

  LineKind parse(const Instruction& instruction, TraceCall& call) {
    const uint64_t key = (instruction.type_and_register >> 8) + 1;
    call.thread = thread_;
    call.time_ns = time_ns_;
    switch (instruction.type_and_register & 0xff) {
      case Instruction::kMalloc:
      case Instruction::kMemalign:
        if ((instruction.type_and_register & 0xff) == Instruction::kMemalign) {
          call.op = Op::kMemalign;
          call.alignment = instruction.second;
        }
        call.block = key;
        call.size = instruction.first;
        return LineKind::kCall;
      case Instruction::kRealloc:
        call.op = Op::kRealloc;
        call.old_block = key;
        call.block = instruction.first + 1;
        call.size = instruction.second;
        return instruction.first < UINT64_MAX ? LineKind::kCall : LineKind::kMalformed;
      case Instruction::kFree:
      case Instruction::kFreeSized:
        call.op = Op::kFree;
        call.old_block = key;
        return LineKind::kCall;
      case Instruction::kSwitchThread:
        thread_ = instruction.first;
        return LineKind::kNothing;
      case Instruction::kKillThread:
        return LineKind::kThreadEnd;
      case Instruction::kSetTime:
        time_ns_ = instruction.first;
        return LineKind::kNothing;
      default:
        return LineKind::kMalformed;
    }
  }

 private:
  uint64_t thread_ = 0;
  std::optional<uint64_t> time_ns_;
};

base::Result<TraceOutline> look(TraceInput& input) {
  if (begins_with_records(input, Instructions())) return TraceOutline();
  return base::Error::foreign("its first 24 bytes are not an instruction 0 to 7");
}

}  // namespace

const TraceFormat& trace_replay_format() {
  static const TraceFormat format{
      .name = "trace-replay",
      .description = "malloc-trace-replay's processed traces (gperftools' wip-malloc-tracing)",
      .absent = absent_bits(Absent::kAddresses, Absent::kEntryPoints, Absent::kFailures),
      .look = look,
      .read = [](TraceInput& input,
                 ImportedEvents& events) { read_records(input, events, Instructions()); },
      .place_name = "byte"};
  return format;
}

}  // namespace heaptape::recorder
