// Shared by the formats with one call a line.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "recorder/import/imported_events.h"
#include "recorder/import/trace_input.h"

namespace heaptape::recorder {

enum class LineKind : uint8_t {
  kCall,
  kThreadEnd,     // of call.thread
  kOtherProcess,  // a call of a process not on the tape
  kNothing,       // no event: a blank line, a heading
  kMalformed,
};

// A LineParser is made for one pass over a trace, and has
//   LineKind parse(std::string_view line, TraceCall& call);
// `call` is a fresh one. The parser may keep state from earlier lines.
template <typename LineParser>
void read_lines(TraceInput& input, ImportedEvents& events, LineParser parser) {
  while (const auto line = input.next_line()) {
    TraceCall call;
    switch (parser.parse(*line, call)) {
      case LineKind::kCall:
        if (!events.add(call)) events.add_malformed(input.line_number(), *line);
        break;
      case LineKind::kThreadEnd:
        events.end_thread(call.thread);
        break;
      case LineKind::kOtherProcess:
        events.add_other_process();
        break;
      case LineKind::kMalformed:
        events.add_malformed(input.line_number(), *line);
        break;
      case LineKind::kNothing:
        break;
    }
    if (events.is_stopped()) return;
  }
}

// The first call in the first lines of a trace, which it only peeks at. Nothing if there is none:
// the trace is of another format then.
template <typename LineParser>
std::optional<TraceCall> first_call(TraceInput& input, LineParser parser) {
  constexpr int kLines = 64;
  const auto bytes = input.peek(TraceInput::kMaxLineBytes);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (int i = 0; i < kLines && !text.empty(); ++i) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    TraceCall call;
    if (parser.parse(line, call) == LineKind::kCall) return call;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

inline bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

// calloc's two factors; an overflow gives UINT64_MAX, as on every tape.
inline uint64_t product(uint64_t count, uint64_t size) {
  uint64_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

}  // namespace heaptape::recorder
