// The ops of a tape as values of a column: the names that `heaptape dump` prints.
#pragma once

#include <array>
#include <cstdint>

#include "python/arrow/batch.h"
#include "schema/tape/op.h"

namespace heaptape::python {

inline constexpr auto kOpNumbers = [] {
  std::array<uint8_t, schema::kOpLimit> numbers{};
  uint8_t count = 0;
  for (uint8_t op = 0; op < schema::kOpLimit; ++op) {
    if (schema::is_valid_op(op)) numbers[op] = count++;
  }
  return numbers;
}();

// The index of an op in op_names().
constexpr uint8_t op_number(schema::Op op) {
  return kOpNumbers[static_cast<uint8_t>(op)];
}

// Lives as long as the process.
const Names& op_names();

}  // namespace heaptape::python
