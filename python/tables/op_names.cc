#include "python/tables/op_names.h"

#include <string_view>
#include <vector>

namespace heaptape::python {

const Names& op_names() {
  static const Names* const names = [] {
    std::vector<std::string_view> texts;
    for (const schema::OpInfo& op : schema::kOpTable.rows) {
      if (op.name != nullptr) texts.emplace_back(op.name);
    }
    return new Names(texts);  // consumers may hold it until the process ends
  }();
  return *names;
}

}  // namespace heaptape::python
