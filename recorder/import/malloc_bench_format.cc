// The traces of ClaytonKnittel/malloc-bench: protobuf messages `Tracefile` of proto/tracefile.proto
// (2024), whose field 1, a call, repeats. Blocks have numbers.
// Exceptions of protozero stop here.
#include <protozero/pbf_reader.hpp>

#include "recorder/import/text_trace.h"
#include "recorder/import/trace_format.h"

namespace heaptape::recorder {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using schema::Absent;
using schema::Op;

// A call has few numbers.
constexpr size_t kMostLineBytes = 256;
constexpr uint32_t kLineField = 1;  // of Tracefile

// The fields of Malloc, Calloc, Realloc and Free by number; 0 if absent.
struct Fields {
  uint64_t values[4] = {};
  bool has[4] = {};

  uint64_t key(uint32_t field) const { return has[field] ? values[field] + 1 : 0; }
};

Fields fields_of(pbf_reader message) {
  Fields fields;
  while (message.next()) {
    if (message.tag() < 4 && message.wire_type() == protozero::pbf_wire_type::varint) {
      fields.has[message.tag()] = true;
      fields.values[message.tag()] = message.get_uint64();
    } else {
      message.skip();
    }
  }
  return fields;
}

// `kind`: the field of TraceLine that holds the call.
bool take(uint32_t kind, const Fields& fields, TraceCall& call) {
  enum Kind : uint32_t { kMalloc = 1, kFree = 2, kRealloc = 3, kCalloc = 4 };
  switch (kind) {
    case kMalloc:
      call.block = fields.key(1);
      call.size = fields.values[2];
      call.alignment = fields.values[3];
      if (fields.has[3]) call.op = Op::kAlignedAlloc;
      return true;
    case kCalloc:
      call.op = Op::kCalloc;
      call.block = fields.key(1);
      call.size = product(fields.values[2], fields.values[3]);
      return true;
    case kRealloc:
      call.op = Op::kRealloc;
      call.block = fields.key(1);
      call.old_block = fields.key(2);
      call.size = fields.values[3];
      return true;
    case kFree:
      call.op = Op::kFree;
      call.old_block = fields.key(1);
      return true;
    default:
      return false;
  }
}

bool parse_line(std::span<const uint8_t> bytes, TraceCall& call) {
  try {
    pbf_reader line(data_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (!line.next() || line.wire_type() != protozero::pbf_wire_type::length_delimited) {
      return false;
    }
    const uint32_t kind = line.tag();
    return take(kind, fields_of(line.get_message()), call) && !line.next();
  } catch (const protozero::exception&) {
    return false;
  }
}

// A piece of a Tracefile: one call, or something to skip.
struct Piece {
  size_t head_bytes = 0;  // before `body_bytes`; 0 if there is no such field
  size_t body_bytes = 0;
  bool is_call = false;
};

// Parses the field at the beginning of `bytes`.
Piece piece_at(std::span<const uint8_t> bytes) {
  const auto* at = reinterpret_cast<const char*>(bytes.data());
  const char* const begin = at;
  const char* const end = begin + bytes.size();
  try {
    const uint64_t tag = protozero::decode_varint(&at, end);
    const auto wire_type = static_cast<protozero::pbf_wire_type>(tag & 7);
    const uint64_t value = protozero::decode_varint(&at, end);
    const auto head_bytes = static_cast<size_t>(at - begin);
    if (wire_type == protozero::pbf_wire_type::varint) return {head_bytes, 0, false};
    const bool is_line = tag >> 3 == kLineField &&
                         wire_type == protozero::pbf_wire_type::length_delimited &&
                         value <= kMostLineBytes;
    return is_line ? Piece{head_bytes, value, true} : Piece();
  } catch (const protozero::exception&) {
    return {};
  }
}

constexpr size_t kMostPieceBytes = kMostLineBytes + 2 * protozero::max_varint_length;

base::Result<TraceOutline> look(TraceInput& input) {
  const auto bytes = input.peek(kMostPieceBytes);
  const Piece piece = piece_at(bytes);
  TraceCall call;
  const bool is_call = piece.is_call && piece.head_bytes + piece.body_bytes <= bytes.size() &&
                       parse_line(bytes.subspan(piece.head_bytes, piece.body_bytes), call);
  if (is_call) return TraceOutline();
  return base::Error::foreign("it does not begin with a call of tracefile.proto");
}

// Each field begins where the last one ends, so nothing can be read after a malformed one.
void read(TraceInput& input, ImportedEvents& events) {
  for (;;) {
    const uint64_t at = input.offset();
    const auto bytes = input.peek(kMostPieceBytes);
    if (bytes.empty() || events.is_stopped()) return;
    const Piece piece = piece_at(bytes);
    if (piece.head_bytes == 0 || piece.head_bytes + piece.body_bytes > bytes.size()) {
      events.add_malformed(at, "there is no call; the rest is omitted");
      return;
    }
    TraceCall call;
    const auto body = bytes.subspan(piece.head_bytes, piece.body_bytes);
    if (piece.is_call && !(parse_line(body, call) && events.add(call))) {
      events.add_malformed(at, "no such call");
    }
    input.skip(piece.head_bytes + piece.body_bytes);
  }
}

}  // namespace

const TraceFormat& malloc_bench_format() {
  static const TraceFormat format{
      .name = "malloc-bench",
      .description = "the traces of ClaytonKnittel/malloc-bench (protobuf)",
      .absent =
          absent_bits(Absent::kThreads, Absent::kAddresses, Absent::kTimes, Absent::kEntryPoints),
      .look = look,
      .read = read,
      .place_name = "byte"};
  return format;
}

}  // namespace heaptape::recorder
