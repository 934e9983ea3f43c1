#include "allocators/models/slabs/extent_index.h"

#include <algorithm>

namespace heaptape::allocators::slabs {

void ExtentIndex::find_table(uint64_t address) {
  const uint64_t key = address >> kTableSpanLog2;
  const auto found = std::ranges::find(tables_, key, &Table::key);
  last_table_ = static_cast<size_t>(found - tables_.begin());
  last_key_ = key;
  if (found == tables_.end()) {
    tables_.push_back({key, metadata_.allocate(kTableBytes, kLineBytes), {}});
  }
}

void ExtentIndex::write_table(uint64_t address) {
  constexpr uint64_t kSpan = uint64_t{1} << kTableSpanLog2;
  Table& table = tables_[last_table_];
  const uint64_t entry = table.address + (address % kSpan >> kPageLog2) * sizeof(uint64_t);
  table.written.set((entry >> kPageLog2) - (table.address >> kPageLog2));
}

// The first and last pages are shared with other data.
void ExtentIndex::append_absent(std::vector<AddressRange>& ranges) const {
  for (const Table& table : tables_) {
    const uint64_t first = page_down(table.address);
    for (uint64_t page = 1; page < kTablePages; ++page) {
      const uint64_t at = first + page * kPageBytes;
      if (!table.written[page]) ranges.push_back({at, at + kPageBytes});
    }
  }
}

}  // namespace heaptape::allocators::slabs
