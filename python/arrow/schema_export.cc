#include <atomic>
#include <string>

#include "python/arrow/stream.h"

namespace heaptape::python {
namespace {

// The schemas of a table and its columns, which a consumer may move away and release one by one:
// lives until the last is released.
struct ExportedSchema {
  std::atomic<size_t> owners = 0;
  std::vector<std::string> names;
  std::vector<ArrowSchema> columns;
  std::vector<ArrowSchema> dictionaries;
  std::vector<ArrowSchema*> pointers;
};

void release(ArrowSchema* schema) {
  auto* const exported = static_cast<ExportedSchema*>(schema->private_data);
  for (int64_t i = 0; i < schema->n_children; ++i) {
    ArrowSchema* const column = schema->children[i];
    if (column->release != nullptr) column->release(column);
  }
  ArrowSchema* const dictionary = schema->dictionary;
  if (dictionary != nullptr && dictionary->release != nullptr) dictionary->release(dictionary);
  schema->release = nullptr;
  if (--exported->owners == 0) delete exported;
}

ArrowSchema make_schema(ExportedSchema& exported, const char* format, const char* name,
                        bool nullable) {
  ++exported.owners;
  ArrowSchema schema{};
  schema.format = format;
  schema.name = name;
  schema.flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  schema.release = release;
  schema.private_data = &exported;
  return schema;
}

}  // namespace

void export_schema(const Batch& batch, ArrowSchema* out) {
  auto owned = std::make_unique<ExportedSchema>();
  ExportedSchema& exported = *owned;
  const size_t count = batch.columns().size();
  exported.names.reserve(count);
  exported.columns.reserve(count);
  exported.dictionaries.reserve(count);
  for (const Column* const column : batch.columns()) {
    exported.names.emplace_back(column->name());
    exported.columns.push_back(
        make_schema(exported, column->format(), exported.names.back().c_str(), column->nullable()));
    exported.pointers.push_back(&exported.columns.back());
    if (column->names() == nullptr) continue;
    exported.dictionaries.push_back(make_schema(exported, "u", "", false));
    exported.columns.back().dictionary = &exported.dictionaries.back();
  }
  *out = make_schema(*owned.release(), "+s", "", false);
  out->n_children = static_cast<int64_t>(count);
  out->children = exported.pointers.data();
}

}  // namespace heaptape::python
