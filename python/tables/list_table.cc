#include "python/tables/list_table.h"

#include <utility>

#include "python/arrow/columns.h"

namespace heaptape::python {
namespace {

// Columns known only at run time. Uses the names in `columns`, which must outlive it.
class ListRows : public Batch {
 public:
  explicit ListRows(const std::vector<ListColumn>& columns) {
    for (const ListColumn& column : columns) add(column);
  }

  void put(size_t column, const Value& value) {
    std::visit([&value](auto* to) { put(*to, value); }, columns_[column]);
  }

 private:
  using Counts = OptionalNumbers<uint64_t>;
  using Signed = OptionalNumbers<int64_t>;
  using Reals = OptionalNumbers<double>;

  void add(const ListColumn& column) {
    switch (column.type) {
      case ValueType::kCount:
        return own(std::make_unique<Counts>(*this, column.name.c_str()));
      case ValueType::kSigned:
        return own(std::make_unique<Signed>(*this, column.name.c_str()));
      case ValueType::kReal:
        return own(std::make_unique<Reals>(*this, column.name.c_str()));
      case ValueType::kText:
        return own(std::make_unique<Texts>(*this, column.name.c_str()));
    }
  }
  template <typename T>
  void own(std::unique_ptr<T> column) {
    columns_.push_back(column.get());
    owned_.push_back(std::move(column));
  }

  static void put(Counts& column, const Value& value) { put_or_null<uint64_t>(column, value); }
  static void put(Signed& column, const Value& value) { put_or_null<int64_t>(column, value); }
  static void put(Reals& column, const Value& value) { put_or_null<double>(column, value); }
  static void put(Texts& column, const Value& value) { put_or_null<std::string>(column, value); }
  template <typename T, typename To>
  static void put_or_null(To& column, const Value& value) {
    const T* const known = std::get_if<T>(&value);
    if (known == nullptr) {
      column.put_null();
    } else {
      column.put(*known);
    }
  }

  std::vector<std::unique_ptr<Column>> owned_;
  std::vector<std::variant<Counts*, Signed*, Reals*, Texts*>> columns_;
};

class ListSource : public Source {
 public:
  explicit ListSource(std::shared_ptr<const std::vector<ListColumn>> columns)
      : columns_(std::move(columns)) {}

  std::unique_ptr<Batch> make_batch() const override {
    return std::make_unique<ListRows>(*columns_);
  }
  base::Status fill(Batch& batch) override {
    auto& rows = static_cast<ListRows&>(batch);
    const size_t count = columns_->empty() ? 0 : columns_->front().values.size();
    for (; next_ < count && rows.room() != 0; ++next_) {
      for (size_t i = 0; i < columns_->size(); ++i) rows.put(i, (*columns_)[i].values[next_]);
    }
    return {};
  }

 private:
  std::shared_ptr<const std::vector<ListColumn>> columns_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_list(std::shared_ptr<const std::vector<ListColumn>> columns) {
  return std::make_unique<ListSource>(std::move(columns));
}

}  // namespace heaptape::python
