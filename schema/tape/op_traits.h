// Which values an op has, for the passes that encode and decode a chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "schema/tape/op.h"

namespace heaptape::schema {

// What an op has values for: each in bits of its own, so that the traits of a block's events can be
// added up.
inline constexpr uint32_t kTraitLimit = 1 << 10;
inline constexpr uint32_t kHandsOut = 1;
inline constexpr uint32_t kGivesUp = kTraitLimit;
inline constexpr uint32_t kAligned = kTraitLimit * kTraitLimit;
inline constexpr uint32_t kInvalidOp = uint32_t{1} << 31;

inline constexpr auto kOpTraits = [] {
  std::array<uint32_t, 256> traits{};
  for (size_t op = 0; op < traits.size(); ++op) {
    if (!is_valid_op(static_cast<uint8_t>(op))) {
      traits[op] = kInvalidOp;
      continue;
    }
    const OpInfo& info = op_info(static_cast<Op>(op));
    traits[op] = (info.kind != OpKind::kRelease ? kHandsOut : 0) +
                 (info.kind != OpKind::kAllocate ? kGivesUp : 0) + (info.aligned ? kAligned : 0);
  }
  return traits;
}();

}  // namespace heaptape::schema
