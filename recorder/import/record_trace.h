// Shared by the formats whose calls are records of one size, laid out as in memory.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "recorder/import/text_trace.h"

namespace heaptape::recorder {

// Little-endian, like this machine.
template <typename Record>
Record record_at(std::span<const uint8_t> bytes) {
  static_assert(std::is_trivially_copyable_v<Record>);
  Record record;
  std::memcpy(&record, bytes.data(), sizeof(record));
  return record;
}

// A RecordParser is made for one pass over a trace, and has a type Record and
//   LineKind parse(const Record& record, TraceCall& call);
// like a LineParser (text_trace.h). A partial record at the end is malformed.
template <typename RecordParser>
void read_records(TraceInput& input, ImportedEvents& events, RecordParser parser) {
  using Record = typename RecordParser::Record;
  for (;;) {
    const uint64_t at = input.offset();
    const auto bytes = input.peek(sizeof(Record));
    if (bytes.empty()) return;
    if (bytes.size() < sizeof(Record)) {
      events.add_malformed(at, "the trace ends within a record");
      return;
    }
    const auto record = record_at<Record>(bytes);
    input.skip(sizeof(Record));
    TraceCall call;
    switch (parser.parse(record, call)) {
      case LineKind::kCall:
        if (!events.add(call)) events.add_malformed(at, "no process has such an address or size");
        break;
      case LineKind::kThreadEnd:
        events.end_thread(call.thread);
        break;
      case LineKind::kMalformed:
        events.add_malformed(at, "no such operation");
        break;
      case LineKind::kNothing:
      case LineKind::kOtherProcess:
        break;
    }
    if (events.is_stopped()) return;
  }
}

// Whether the first records of a trace, which it only peeks at, can be of the format: the first is
// whole, none is malformed and one is a call.
template <typename RecordParser>
bool begins_with_records(TraceInput& input, RecordParser parser) {
  using Record = typename RecordParser::Record;
  constexpr size_t kRecords = 64;
  auto bytes = input.peek(kRecords * sizeof(Record));
  bool has_call = false;
  for (; bytes.size() >= sizeof(Record); bytes = bytes.subspan(sizeof(Record))) {
    TraceCall call;
    const LineKind kind = parser.parse(record_at<Record>(bytes), call);
    if (kind == LineKind::kMalformed) return false;
    has_call = has_call || kind == LineKind::kCall;
  }
  return has_call;
}

}  // namespace heaptape::recorder
