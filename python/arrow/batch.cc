#include "python/arrow/batch.h"

#include <algorithm>

namespace heaptape::python {

size_t Batch::rows() const {
  return columns_.empty() ? 0 : columns_.front()->rows();
}

size_t Batch::room() const {
  const bool is_full = std::ranges::any_of(columns_, &Column::is_full);
  return is_full ? 0 : kBatchRows - rows();
}

void Batch::clear() {
  for (Column* const column : columns_) column->clear();
}

Names::Names(std::span<const std::string_view> names) {
  offsets.push_back(0);
  for (const std::string_view name : names) {
    bytes += name;
    offsets.push_back(static_cast<int32_t>(bytes.size()));
  }
}

Column::Column(Batch& batch, const char* name, const char* format, Nulls nulls)
    : name_(name), format_(format), nulls_(nulls) {
  if (nullable()) validity_.resize(kBatchRows / 8);
  batch.columns_.push_back(this);
}

void Column::clear() {
  rows_ = 0;
  null_count_ = 0;
}

}  // namespace heaptape::python
