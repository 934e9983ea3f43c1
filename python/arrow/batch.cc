#include "python/arrow/batch.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/display_text.h"

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

Texts::Texts(Batch& batch, const char* name) : Column(batch, name, "u", Nulls::kSome) {
  offsets_.push_back(0);
}

void Texts::put(std::string text) {
  put_bytes(base::valid_utf8(std::move(text)), true);
}

void Texts::put_null() {
  put_bytes({}, false);
}

void Texts::put_bytes(const std::string& bytes, bool is_valid) {
  add_row(is_valid);
  bytes_ += bytes;
  HEAPTAPE_CHECK(bytes_.size() <= INT32_MAX);
  offsets_.push_back(static_cast<int32_t>(bytes_.size()));
}

void Texts::clear() {
  Column::clear();
  offsets_.resize(1);
  bytes_.clear();
}

}  // namespace heaptape::python
