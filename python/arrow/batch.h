// Rows in Arrow's layout: declared columns, with at most kBatchRows values each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heaptape::python {

// A batch of all columns exceeds most second-level caches, but is large enough to make a reader's
// work per batch negligible.
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
  // How many more rows fit; also 0 if texts have become long.
  size_t room() const;
  void clear();

 private:
  friend class Column;
  std::vector<Column*> columns_;  // in order of declaration
};

// At most a few hundred different texts, each used often: Arrow's dictionary encoding.
struct Names {
  explicit Names(std::span<const std::string_view> names);

  std::string bytes;
  std::vector<int32_t> offsets;  // of each in `bytes`, and the end of the last
};

class Column {
 public:
  enum class Nulls : bool { kNone, kSome };

  Column(Batch& batch, const char* name, const char* format, Nulls nulls);
  virtual ~Column() = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  const char* name() const { return name_; }
  const char* format() const { return format_; }  // in the notation of Arrow's C data interface
  bool nullable() const { return nulls_ == Nulls::kSome; }
  virtual const Names* names() const { return nullptr; }

  size_t rows() const { return rows_; }
  size_t null_count() const { return null_count_; }
  // Null if all rows have values.
  const void* validity() const { return null_count_ == 0 ? nullptr : validity_.data(); }
  // The buffers after the validity: values, or offsets and bytes of texts. Valid until clear().
  virtual std::vector<const void*> buffers() const = 0;
  virtual bool is_full() const { return rows_ == kBatchRows; }
  virtual void clear();

 protected:
  // Adds a row, for which there must be room.
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
  // The same for a column without nulls.
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
