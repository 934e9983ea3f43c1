// A call of an imported trace, as each format's reader returns it.
#pragma once

#include <cstdint>
#include <optional>

#include "schema/tape/op.h"

namespace heaptape::recorder {

// Blocks have keys: their addresses or, in a trace without addresses, any number but 0 that is
// unique among the live blocks.
struct TraceCall {
  schema::Op op = schema::Op::kMalloc;
  uint64_t thread = 0;     // any number
  uint64_t block = 0;      // returned by the call; 0 if none
  uint64_t old_block = 0;  // given up by the call; 0 if none
  uint64_t size = 0;
  uint64_t alignment = 0;
  std::optional<uint64_t> time_ns = {};  // from any moment on
};

}  // namespace heaptape::recorder
