// The call stacks that requested blocks, as a tape stores them. docs/tape-format.md, "Stacks".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/address/address_range.h"

namespace heaptape::schema {

// Stacks share their outer frames, as paths in a tree share their beginning. A frame is numbered
// from 1 in the order in which the tape has them; a stack is the number of its innermost frame; 0
// is no stack.
using FrameNumber = uint32_t;

// A tape has no more frames than this.
inline constexpr FrameNumber kMostFrames = (FrameNumber{1} << 26) - 1;

struct Frame {
  FrameNumber caller = 0;       // the next outer one, of a smaller number; 0: none
  uint64_t return_address = 0;  // where it is to return to; below kStackEnds: a StackEnd
  // The frames further out were found by the frame pointer, though nothing says that the function
  // keeps one.
  bool guesses = false;

  bool operator==(const Frame&) const = default;
};

// The path of code that was made at run time and has a name.
inline constexpr const char* kMadeCodePath = "[jit]";

// Code of a file, where the process had mapped it, or of a function that the process made.
struct CodeMapping {
  FrameNumber frames = 0;  // on the tape when this was seen: those behind may lie in it
  base::AddressRange range;
  uint64_t file_offset = 0;   // of range.begin
  std::string path;           // bytes; as /proc/PID/maps has it
  std::string build_id;       // bytes; empty: it has none, or the file could not be read
  std::string function = {};  // bytes; the process's name for code that it made; else empty

  bool operator==(const CodeMapping&) const = default;
};

// The frames of a tape, and the code that they are in.
class Stacks {
 public:
  // `first` frames come before these: at least limit() - 1. Any in between are lost.
  void add_frames(FrameNumber first, std::span<const Frame> frames);
  void add_mapping(CodeMapping mapping) { mappings_.push_back(std::move(mapping)); }

  // Null: there is no such frame, or it was lost.
  const Frame* find(FrameNumber number) const;
  // In the order in which they were seen.
  const std::vector<CodeMapping>& mappings() const { return mappings_; }
  // One more than the highest number of a frame.
  FrameNumber limit() const;

 private:
  // Some frames in succession, the first of which has number `first` + 1.
  struct Stretch {
    FrameNumber first;
    std::vector<Frame> frames;
  };

  std::vector<Stretch> stretches_;  // ascending
  std::vector<CodeMapping> mappings_;
};

}  // namespace heaptape::schema
