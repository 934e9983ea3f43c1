// The source locations of a tape's frames. docs/decisions/0022-stacks.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schema/tape/stack.h"

namespace heaptape::replayer {

// A function at a line.
struct SourceFrame {
  std::string function;  // demangled, with its parameters; empty if unknown
  std::string file;      // empty if unknown
  uint32_t line = 0;     // 0 if unknown

  bool operator==(const SourceFrame&) const = default;
};

// The source location of one return address of a tape.
struct CodePlace {
  std::string module;   // path of the code's file; empty if unknown
  uint64_t offset = 0;  // of the call, an address as the module's symbols have it, or an offset in
                        // the file if that could not be read; without a module, the return address
  // The innermost inlined function first, the one that has the code last. Empty if unknown.
  std::vector<SourceFrame> source;

  bool operator==(const CodePlace&) const = default;
};

// The places of all frames of a tape. Many frames share one.
class Symbols {
 public:
  Symbols() = default;
  // `place_of_frame`: by frame number, an index into `places`; that of number 0 is unused.
  Symbols(std::vector<CodePlace> places, std::vector<uint32_t> place_of_frame)
      : places_(std::move(places)), place_of_frame_(std::move(place_of_frame)) {}

  // For any number below limit(). A lost frame, or the mark of a cut, has a place without a module
  // and with offset 0.
  const CodePlace& find(schema::FrameNumber frame) const { return places_[index_of(frame)]; }
  // Equal for frames that share a place.
  uint32_t index_of(schema::FrameNumber frame) const { return place_of_frame_[frame]; }
  const std::vector<CodePlace>& places() const { return places_; }
  schema::FrameNumber limit() const {
    return static_cast<schema::FrameNumber>(place_of_frame_.size());
  }

 private:
  std::vector<CodePlace> places_;
  std::vector<uint32_t> place_of_frame_;
};

}  // namespace heaptape::replayer
