// A table of values that are already in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "python/arrow/stream.h"

namespace heaptape::python {

// monostate is null.
using Value = std::variant<std::monostate, uint64_t, int64_t, double, std::string>;
enum class ValueType : uint8_t { kCount, kSigned, kReal, kText };

struct ListColumn {
  std::string name;
  ValueType type = ValueType::kText;
  std::vector<Value> values;  // each null or of `type`; as many as in every other column
};

std::unique_ptr<Source> open_list(std::shared_ptr<const std::vector<ListColumn>> columns);

}  // namespace heaptape::python
