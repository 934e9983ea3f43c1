// heaptape._native.list_table: a table of Python values.
#include "python/tables/list_table.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <utility>

#include "python/extension/table.h"

namespace nb = nanobind;

namespace heaptape::python {
namespace {

ValueType type_of(const std::string& name) {
  if (name == "count") return ValueType::kCount;
  if (name == "signed") return ValueType::kSigned;
  if (name == "real") return ValueType::kReal;
  if (name == "text") return ValueType::kText;
  throw nb::value_error("the type of a column is 'count', 'signed', 'real' or 'text'");
}

Value value_of(nb::handle value, ValueType type) {
  if (value.is_none()) return {};
  switch (type) {
    case ValueType::kCount:
      return nb::cast<uint64_t>(value);
    case ValueType::kSigned:
      return nb::cast<int64_t>(value);
    case ValueType::kReal:
      return nb::cast<double>(value);
    case ValueType::kText:
      return nb::cast<std::string>(value);
  }
  return {};
}

// `columns` are tuples (name, type, values).
Table list_table(nb::list columns) {
  auto all = std::make_shared<std::vector<ListColumn>>();
  for (const nb::handle item : columns) {
    const auto column = nb::cast<nb::tuple>(item);
    ListColumn& added = all->emplace_back();
    added.name = nb::cast<std::string>(column[0]);
    added.type = type_of(nb::cast<std::string>(column[1]));
    for (const nb::handle value : nb::cast<nb::list>(column[2])) {
      added.values.push_back(value_of(value, added.type));
    }
    if (added.values.size() != all->front().values.size()) {
      throw nb::value_error("the columns of a table differ in length");
    }
  }
  return Table([all] { return open_list(all); });
}

}  // namespace

void add_list_table(nb::module_& module) {
  module.def("list_table", list_table, nb::arg("columns"));
}

}  // namespace heaptape::python
