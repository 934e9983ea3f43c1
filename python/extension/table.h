// A table in Python: an object with the methods of Arrow's PyCapsule interface.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <stdexcept>

#include "base/result.h"
#include "python/arrow/stream.h"

namespace heaptape::python {

// heaptape.Error in Python: one sentence.
struct Failure : std::runtime_error {
  explicit Failure(const base::Error& error) : std::runtime_error(error.message) {}
};

template <typename T>
T value_or_throw(base::Result<T> result) {
  if (!result.ok()) throw Failure(result.error());
  return std::move(*result);
}

// Each stream begins at the first row. Reading needs no GIL.
class Table {
 public:
  // `open` makes a source at the first row; it is called without the GIL, and throws Failure.
  using Open = std::function<std::unique_ptr<Source>()>;
  explicit Table(Open open) : open_(std::move(open)) {}

  // Capsules that own their contents until a consumer takes them.
  nanobind::object stream() const;
  nanobind::object schema() const;

 private:
  Open open_;
};

void add_tape(nanobind::module_& module);
void add_list_table(nanobind::module_& module);
void add_gates(nanobind::module_& module);

}  // namespace heaptape::python
