// The columns that declare a table: see batch.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "python/arrow/batch.h"

namespace heaptape::python {

// T in the notation of Arrow's C data interface.
template <typename T>
constexpr const char* format_of() {
  if constexpr (std::is_same_v<T, uint8_t>) return "C";
  if constexpr (std::is_same_v<T, uint32_t>) return "I";
  if constexpr (std::is_same_v<T, uint64_t>) return "L";
  if constexpr (std::is_same_v<T, int64_t>) return "l";
  if constexpr (std::is_same_v<T, double>) return "g";
}

// Without nulls.
template <typename T>
class Numbers : public Column {
 public:
  Numbers(Batch& batch, const char* name, Nulls nulls = Nulls::kNone)
      : Column(batch, name, format_of<T>(), nulls),
        values_(std::make_unique_for_overwrite<T[]>(kBatchRows)) {}

  void put(T value) { values_[add_valid_row()] = value; }
  std::vector<const void*> buffers() const override { return {values_.get()}; }

 protected:
  void put(T value, bool is_valid) { values_[add_row(is_valid)] = value; }

 private:
  std::unique_ptr<T[]> values_;
};

// With nulls.
template <typename T>
class OptionalNumbers : public Numbers<T> {
 public:
  OptionalNumbers(Batch& batch, const char* name) : Numbers<T>(batch, name, Column::Nulls::kSome) {}

  void put(T value, bool is_valid = true) { Numbers<T>::put(value, is_valid); }
  void put_null() { put(0, false); }
  // Puts null for 0.
  void put_unless_0(T value) { put(value, value != 0); }
};

// Indices into `names`, which must outlive every stream.
class NameNumbers : public Numbers<uint8_t> {
 public:
  NameNumbers(Batch& batch, const char* name, const Names& names)
      : Numbers<uint8_t>(batch, name), names_(names) {}

  const Names* names() const override { return &names_; }

 private:
  const Names& names_;
};

// UTF-8, with nulls. A text has at most 512 MiB.
class Texts : public Column {
 public:
  Texts(Batch& batch, const char* name);

  // Replaces invalid UTF-8 by U+FFFD.
  void put(std::string text);
  void put_null();
  std::vector<const void*> buffers() const override { return {offsets_.data(), bytes_.data()}; }
  bool is_full() const override { return Column::is_full() || bytes_.size() >= kFullBytes; }
  void clear() override;

 private:
  static constexpr size_t kFullBytes = size_t{16} << 20;

  void put_bytes(const std::string& bytes, bool is_valid);

  std::vector<int32_t> offsets_;
  std::string bytes_;
};

}  // namespace heaptape::python
