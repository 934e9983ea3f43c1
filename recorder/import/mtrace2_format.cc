// The binary trace of glibc's dj/malloc branch (DJ Delorie, 2016 to 2018), which trace2wl and
// trace_dump read. The format is that of the branch's malloc/mtrace.h: records of 64 bytes, the
// first with type 255 and ptr1 0x1234. Records of type 0 pad the file.
#include "recorder/import/record_trace.h"
#include "recorder/import/trace_format.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::Op;

struct MtraceRecord {
  enum Type : uint8_t {
    kUnused = 0,
    kMalloc = 1,
    kCalloc = 2,
    kFree = 3,
    kRealloc = 4,
    kMemalign = 5,
    kValloc = 6,
    kPvalloc = 7,
    kPosixMemalign = 8,
    kMagic = 255,
  };

  int32_t thread;
  uint32_t type_and_path;  // the type in the lowest byte
  uint64_t old_block;      // for posix_memalign: the error
  uint64_t block;
  uint64_t size;
  uint64_t alignment;  // for other calls: an internal size
  uint64_t more[3];
};
static_assert(sizeof(MtraceRecord) == 64);

class MtraceRecords {
 public:
  using Record = MtraceRecord;

  LineKind parse(const MtraceRecord& record, TraceCall& call) {
    call.thread = static_cast<uint32_t>(record.thread);
    call.block = record.block;
    call.size = record.size;
    switch (record.type_and_path & 0xff) {
      case MtraceRecord::kUnused:
      case MtraceRecord::kMagic:
        return LineKind::kNothing;
      case MtraceRecord::kMalloc:
        return LineKind::kCall;
      case MtraceRecord::kCalloc:
        call.op = Op::kCalloc;
        return LineKind::kCall;
      case MtraceRecord::kValloc:
        call.op = Op::kValloc;
        return LineKind::kCall;
      case MtraceRecord::kPvalloc:
        call.op = Op::kPvalloc;
        return LineKind::kCall;
      case MtraceRecord::kMemalign:
        call.op = Op::kMemalign;
        call.alignment = record.alignment;
        return LineKind::kCall;
      case MtraceRecord::kPosixMemalign:
        call.op = Op::kPosixMemalign;
        call.alignment = record.alignment;
        return LineKind::kCall;
      case MtraceRecord::kRealloc:
        call.op = Op::kRealloc;
        call.old_block = record.old_block;
        return LineKind::kCall;
      case MtraceRecord::kFree:
        call = {.op = Op::kFree, .thread = call.thread, .old_block = record.old_block};
        return LineKind::kCall;
      default:
        return LineKind::kMalformed;
    }
  }
};

base::Result<TraceOutline> look(TraceInput& input) {
  constexpr uint64_t kMagicPointer = 0x1234;
  const auto bytes = input.peek(sizeof(MtraceRecord));
  if (bytes.size() == sizeof(MtraceRecord)) {
    const auto first = record_at<MtraceRecord>(bytes);
    const bool is_magic = (first.type_and_path & 0xff) == MtraceRecord::kMagic &&
                          first.old_block == kMagicPointer && first.size == sizeof(uint64_t);
    if (is_magic) return TraceOutline();
  }
  return base::Error::foreign("it does not begin with the record of a 64-bit mtrace2");
}

}  // namespace

const TraceFormat& mtrace2_format() {
  static const TraceFormat format{
      .name = "mtrace2",
      .description = "the binary trace of glibc's dj/malloc branch",
      .absent = absent_bits(Absent::kTimes, Absent::kEntryPoints),
      .look = look,
      .read = [](TraceInput& input,
                 ImportedEvents& events) { read_records(input, events, MtraceRecords()); },
      .place_name = "byte"};
  return format;
}

}  // namespace heaptape::recorder
