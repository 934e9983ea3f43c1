// Invariants of every table that recorded processes read (recorder/unwind/unwind_table.h).
#pragma once

#include <cstdint>

#include "recorder/unwind/unwind_table.h"

namespace heaptape::tests {

// Walks trust a table: every place in it that find_rule() uses must be inside it and correct.
inline bool is_whole(const recorder::UnwindTable& table) {
  const auto* const rules = reinterpret_cast<const recorder::UnwindRule*>(&table + 1);
  const auto* const first_row = reinterpret_cast<const uint32_t*>(rules + table.rules);
  const auto* const code = first_row + table.pages + 1;
  const auto* const rule = reinterpret_cast<const uint16_t*>(code + table.rows);
  const auto bytes =
      reinterpret_cast<uintptr_t>(rule + table.rows) - reinterpret_cast<uintptr_t>(&table);
  if (table.rows == 0 || bytes > table.bytes || code[0] != 0) return false;
  for (uint32_t row = 0; row < table.rows; ++row) {
    if (row > 0 && code[row] <= code[row - 1]) return false;
    if (rule[row] >= table.rules) return false;
  }
  for (uint64_t page = 0; page <= table.pages; ++page) {
    const uint64_t begin = page << recorder::kUnwindPageLog2;
    const uint32_t row = first_row[page];
    if (row >= table.rows || code[row] > begin) return false;
    if (row + 1 < table.rows && code[row + 1] <= begin) return false;
  }
  return true;
}

}  // namespace heaptape::tests
