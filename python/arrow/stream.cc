#include "python/arrow/stream.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace heaptape::python {
namespace {

// Batches that their consumers have released, for reuse: touching a page for the first time costs
// more than writing to it.
class SpareBatches {
 public:
  std::unique_ptr<Batch> take() {
    const std::lock_guard lock(mutex_);
    if (batches_.empty()) return nullptr;
    std::unique_ptr<Batch> batch = std::move(batches_.back());
    batches_.pop_back();
    return batch;
  }
  void give(std::unique_ptr<Batch> batch) {
    constexpr size_t kMost = 4;  // a consumer that kept more may want no more
    const std::lock_guard lock(mutex_);
    if (batches_.size() < kMost) batches_.push_back(std::move(batch));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Batch>> batches_;
};

// A batch and its columns, which a consumer may move away and release one by one: lives until the
// last is released.
struct ExportedBatch {
  std::atomic<size_t> owners = 0;
  std::unique_ptr<Batch> batch;
  std::shared_ptr<SpareBatches> spare;
  std::vector<std::array<const void*, 3>> buffers;  // for each column, and for its dictionary
  std::vector<ArrowArray> columns;
  std::vector<ArrowArray> dictionaries;
  std::vector<ArrowArray*> pointers;
  const void* no_validity = nullptr;  // for the whole
};

void release(ArrowArray* array) {
  auto* const exported = static_cast<ExportedBatch*>(array->private_data);
  for (int64_t i = 0; i < array->n_children; ++i) {
    ArrowArray* const column = array->children[i];
    if (column->release != nullptr) column->release(column);
  }
  ArrowArray* const dictionary = array->dictionary;
  if (dictionary != nullptr && dictionary->release != nullptr) dictionary->release(dictionary);
  array->release = nullptr;
  if (--exported->owners != 0) return;
  exported->spare->give(std::move(exported->batch));
  delete exported;
}

ArrowArray make_array(ExportedBatch& exported, size_t length, size_t null_count) {
  ++exported.owners;
  ArrowArray array{};
  array.length = static_cast<int64_t>(length);
  array.null_count = static_cast<int64_t>(null_count);
  array.release = release;
  array.private_data = &exported;
  return array;
}

// `buffers` follow the validity.
void add_buffers(ExportedBatch& exported, ArrowArray& array, const void* validity,
                 const std::vector<const void*>& buffers) {
  std::array<const void*, 3>& all = exported.buffers.emplace_back();
  all[0] = validity;
  std::copy(buffers.begin(), buffers.end(), all.begin() + 1);
  array.n_buffers = static_cast<int64_t>(1 + buffers.size());
  array.buffers = all.data();
}

void add_column(ExportedBatch& exported, const Column& column) {
  exported.columns.push_back(make_array(exported, column.rows(), column.null_count()));
  ArrowArray& array = exported.columns.back();
  exported.pointers.push_back(&array);
  add_buffers(exported, array, column.validity(), column.buffers());
  const Names* const names = column.names();
  if (names == nullptr) return;
  exported.dictionaries.push_back(make_array(exported, names->offsets.size() - 1, 0));
  array.dictionary = &exported.dictionaries.back();
  add_buffers(exported, *array.dictionary, nullptr, {names->offsets.data(), names->bytes.data()});
}

void export_batch(std::unique_ptr<Batch> batch, std::shared_ptr<SpareBatches> spare,
                  ArrowArray* out) {
  auto owned = std::make_unique<ExportedBatch>();
  ExportedBatch& exported = *owned;
  exported.batch = std::move(batch);
  exported.spare = std::move(spare);
  const size_t count = exported.batch->columns().size();
  exported.buffers.reserve(2 * count);
  exported.columns.reserve(count);
  exported.dictionaries.reserve(count);
  for (const Column* const column : exported.batch->columns()) add_column(exported, *column);
  *out = make_array(*owned.release(), exported.batch->rows(), 0);
  out->n_buffers = 1;
  out->buffers = &exported.no_validity;
  out->n_children = static_cast<int64_t>(count);
  out->children = exported.pointers.data();
}

struct Stream {
  std::unique_ptr<Source> source;
  std::shared_ptr<SpareBatches> spare = std::make_shared<SpareBatches>();
  std::string error;

  base::Status next(ArrowArray* out) {
    std::unique_ptr<Batch> batch = spare->take();
    if (batch == nullptr) batch = source->make_batch();
    batch->clear();
    HEAPTAPE_RETURN_IF_ERROR(source->fill(*batch));
    if (batch->rows() != 0) export_batch(std::move(batch), spare, out);
    return {};
  }
};

Stream& of(ArrowArrayStream* stream) {
  return *static_cast<Stream*>(stream->private_data);
}

// Returns body(); lets no exception reach the consumer.
template <typename Body>
int guarded(Stream& stream, Body body) {
  try {
    const base::Status status = body();
    if (status.ok()) return 0;
    stream.error = status.error().message;
    return EIO;
  } catch (const std::bad_alloc&) {
    stream.error = "there is not enough memory";
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded(of(stream), [&]() -> base::Status {
    export_schema(*of(stream).source->make_batch(), out);
    return {};
  });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  *out = {};
  return guarded(of(stream), [&] { return of(stream).next(out); });
}

const char* get_last_error(ArrowArrayStream* stream) {
  return of(stream).error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete &of(stream);
  stream->release = nullptr;
}

}  // namespace

void export_stream(std::unique_ptr<Source> source, ArrowArrayStream* out) {
  auto stream = std::make_unique<Stream>();
  stream->source = std::move(source);
  *out = {get_schema, get_next, get_last_error, release_stream, stream.release()};
}

}  // namespace heaptape::python
