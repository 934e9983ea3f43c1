// Rows as Arrow lays them out: a declaration of columns, and at most kBatchRows values of each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heaptape::python {

// So that a batch of all columns fits the second-level cache of few machines, but is large enough
// for what a reader does per batch not to count.
inline constexpr size_t kBatchRows = size_t{1} << 16;

class Column;

// Example:
//
//   struct Mark : Batch {
//     Numbers<uint64_t> at{*this, "at"};
//     Texts name{*this, "name"};
//   };
//
// Every column has a value, or null, for each row. One thread at a time.
class Batch {
 public:
  Batch() = default;
  virtual ~Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const std::vector<Column*>& columns() const { return columns_; }
  size_t rows() const;
  // How many rows may be added; 0 also where texts have become long.
  size_t room() const;
  void clear();

 private:
  friend class Column;
  std::vector<Column*> columns_;  // in the order in which they were declared
};

// Texts of which a column has a few hundred at most, and each often: Arrow's dictionary encoding.
struct Names {
  explicit Names(std::span<const std::string_view> names);

  std::string bytes;
  std::vector<int32_t> offsets;  // of each in `bytes`, and behind the last
};

class Column {
 public:
  enum class Nulls : bool { kNone, kSome };

  Column(Batch& batch, const char* name, const char* format, Nulls nulls);
  virtual ~Column() = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  const char* name() const { return name_; }
  const char* format() const { return format_; }  // as Arrow's C data interface writes types
  bool nullable() const { return nulls_ == Nulls::kSome; }
  virtual const Names* names() const { return nullptr; }

  size_t rows() const { return rows_; }
  size_t null_count() const { return null_count_; }
  // Null: all rows have values.
  const void* validity() const { return null_count_ == 0 ? nullptr : validity_.data(); }
  // Behind the validity: the values, or the offsets and the bytes of texts. Valid until clear().
  virtual std::vector<const void*> buffers() const = 0;
  virtual bool is_full() const { return rows_ == kBatchRows; }
  virtual void clear();

 protected:
  // One more row; there is room for it.
  size_t add_row(bool is_valid) {
    const auto bit = static_cast<uint8_t>(1 << rows_ % 8);
    if (is_valid) {
      validity_[rows_ / 8] |= bit;
    } else {
      validity_[rows_ / 8] &= static_cast<uint8_t>(~bit);
      ++null_count_;
    }
    return rows_++;
  }
  // The same in a column without nulls.
  size_t add_valid_row() { return rows_++; }

 private:
  const char* const name_;
  const char* const format_;
  const Nulls nulls_;
  std::vector<uint8_t> validity_;  // none in a column without nulls
  size_t rows_ = 0;
  size_t null_count_ = 0;
};

// T as Arrow's C data interface writes it.
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
  // 0 stands for null.
  void put_unless_0(T value) { put(value, value != 0); }
};

// Numbers of some of `names`, which outlive every stream.
class NameNumbers : public Numbers<uint8_t> {
 public:
  NameNumbers(Batch& batch, const char* name, const Names& names)
      : Numbers<uint8_t>(batch, name), names_(names) {}

  const Names* names() const override { return &names_; }

 private:
  const Names& names_;
};

// UTF-8, with nulls. No text is longer than 512 MiB.
class Texts : public Column {
 public:
  Texts(Batch& batch, const char* name);

  // What is not UTF-8 in `text` becomes U+FFFD.
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
