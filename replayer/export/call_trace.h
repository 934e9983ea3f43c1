// The calls of a tape in formats that other tools replay: docs/howto-import.md, "The other way".
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

enum class TraceKind : uint8_t { kMalloclab, kAndroid, kMtrace };

// Streams batches into text: memory grows with the live blocks. One thread.
class CallTrace {
 public:
  explicit CallTrace(TraceKind kind) : kind_(kind) {}

  // Appends the lines of the batch.
  void append(std::string& text, const schema::EventBatch& batch);

  // Calls without a line in the format: failed calls, frees of NULL and of unknown blocks.
  uint64_t left_out() const { return left_out_; }
  // Only for the malloc lab: its lines, and the limit of its block numbers.
  uint64_t lines() const { return lines_; }
  uint64_t numbers() const { return numbers_; }

 private:
  void append_android(std::string& text, const schema::Event& event);
  void append_mtrace(std::string& text, const schema::Event& event);
  void append_malloclab(std::string& text, const schema::Event& event);
  uint64_t take_number(uint64_t address);

  TraceKind kind_;
  uint64_t lines_ = 0;
  uint64_t left_out_ = 0;
  uint64_t numbers_ = 0;
  std::unordered_map<uint64_t, uint64_t> by_address_;  // live blocks
  std::vector<uint64_t> free_numbers_;
};

// The header: for the malloc lab, it has the numbers of blocks and lines of `whole`.
std::string call_trace_head(TraceKind kind, const CallTrace& whole);
std::string call_trace_end(TraceKind kind);

}  // namespace heaptape::replayer
