// Which calls have their stacks on a tape, and how these were found. docs/tape-format.md, "Header,
// summary, manifest".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/tape/size_range.h"

namespace heaptape::schema {

// How the stack of a call was found. Stored in tapes: values never change.
enum class StackMode : uint8_t {
  kNone = 0,  // none was recorded; or the tape is of a version that did not say
  kFramePointers = 1,
  kUnwindTables = 2,
};

inline constexpr uint32_t kUsualStackFrames = 64;

struct StackRecording {
  StackMode mode = StackMode::kNone;
  uint32_t depth = 0;        // frames of a stack, at most
  uint64_t every_bytes = 0;  // calls were chosen that ask for one byte in so many; 0: see `sizes`
  // Requested sizes: all calls for these have their stacks. Other calls were chosen by
  // `every_bytes`, or none of them if that is 0. Empty: `every_bytes` says it alone; all if 0.
  std::vector<SizeRange> sizes = {};

  bool operator==(const StackRecording&) const = default;

  // Some calls have no stack because they were not chosen.
  bool is_partial() const { return every_bytes != 0 || !sizes.empty(); }
  // All calls for `bytes` have their stacks, as far as these can be had.
  bool is_complete(uint64_t bytes) const { return sizes.empty() ? every_bytes == 0 : has(bytes); }

 private:
  bool has(uint64_t bytes) const;
};

// "48 bytes", "48, 64 or 1,024 to 4,096 bytes". `sizes` must not be empty.
std::string sizes_text(const std::vector<SizeRange>& sizes);

// The value of `heaptape record --stacks` that records in this way, which is not kNone:
// "dwarf,depth=30,every=512KiB,size=48+1024-4096".
std::string stacks_option(const StackRecording& recording);

}  // namespace heaptape::schema
