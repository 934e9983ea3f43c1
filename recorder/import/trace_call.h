// A call of an imported trace, as every format's reader gives it.
#pragma once

#include <cstdint>
#include <optional>

#include "schema/tape/op.h"

namespace heaptape::recorder {

// Blocks have keys: their addresses, or where a trace has none any number but 0 that tells a block
// from the others that live at the time.
struct TraceCall {
  schema::Op op = schema::Op::kMalloc;
  uint64_t thread = 0;     // any number
  uint64_t block = 0;      // that the call returned; 0: none
  uint64_t old_block = 0;  // that it gave up; 0: none
  uint64_t size = 0;
  uint64_t alignment = 0;
  std::optional<uint64_t> time_ns = {};  // from any moment on
};

}  // namespace heaptape::recorder
