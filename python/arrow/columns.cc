#include "python/arrow/columns.h"

#include <utility>

#include "base/check.h"
#include "base/display_text.h"

namespace heaptape::python {

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
