// Any bytes as a section .eh_frame.
#include "tests/fuzz/unwind_code.h"

#include <array>

#include "base/check.h"
#include "tests/support/whole_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptape;
  const std::array segments = {fuzz::kUnwindCode, fuzz::kMoreUnwindCode};
  const auto tables = recorder::compile_eh_frame({data, size}, fuzz::kUnwindSection, segments);
  HEAPTAPE_CHECK(tables.tables.size() == segments.size());
  uint64_t rows = 0;
  for (const recorder::CompiledTable& table : tables.tables) {
    HEAPTAPE_CHECK(tests::is_whole(table.table()));
    rows += table.table().rows;
  }
  HEAPTAPE_CHECK(rows == tables.counts.rows);
  HEAPTAPE_CHECK(rows <= size + segments.size());
  return 0;
}
