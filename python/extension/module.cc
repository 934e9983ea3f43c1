// The module heaptape._native. heaptape/_native.pyi has its types for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/version.h"
#include "python/extension/table.h"

namespace nb = nanobind;

namespace heaptape::python {
namespace {

template <typename T>
void destroy(PyObject* capsule) {
  auto* const value = static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (value == nullptr) return;
  if (value->release != nullptr) value->release(value);
  delete value;
}

template <typename T>
nb::object capsule(std::unique_ptr<T> value, const char* name) {
  PyObject* const object = PyCapsule_New(value.get(), name, destroy<T>);
  if (object == nullptr) throw nb::python_error();
  value.release();
  return nb::steal(object);
}

}  // namespace

nb::object Table::stream() const {
  auto stream = std::make_unique<ArrowArrayStream>();
  {
    const nb::gil_scoped_release unlocked;
    export_stream(open_(), stream.get());
  }
  return capsule(std::move(stream), "arrow_array_stream");
}

nb::object Table::schema() const {
  auto schema = std::make_unique<ArrowSchema>();
  {
    const nb::gil_scoped_release unlocked;
    export_schema(*open_()->make_batch(), schema.get());
  }
  return capsule(std::move(schema), "arrow_schema");
}

}  // namespace heaptape::python

NB_MODULE(_native, module) {
  using namespace heaptape::python;
  nb::set_leak_warnings(false);  // consumers may hold streams until the process ends
  module.attr("__version__") = HEAPTAPE_VERSION;
  nb::exception<Failure>(module, "Error").attr("__module__") = "heaptape";
  nb::class_<Table>(module, "Table")
      .def(
          "__arrow_c_stream__", [](const Table& table, nb::object) { return table.stream(); },
          nb::arg("requested_schema") = nb::none())
      .def("__arrow_c_schema__", &Table::schema);
  add_tape(module);
  add_list_table(module);
  add_gates(module);
}
