// Rows as Arrow lays them out: a declaration of columns, and at most kBatchRows values of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

}  // namespace heaptape::python
