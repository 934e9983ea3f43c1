// Hands tables to whoever reads Arrow's C stream interface.
#pragma once

#include <memory>

#include "base/result.h"
#include "python/arrow/batch.h"
#include "python/arrow/c_data.h"

namespace heaptape::python {

// Makes the rows of one table, from its first to its last. One thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  // One without rows; all have the same columns.
  virtual std::unique_ptr<Batch> make_batch() const = 0;
  // Adds rows to a batch that make_batch() made and that has none. None are added: it was the last.
  virtual base::Status fill(Batch& batch) = 0;
};

// The same for batches of type Rows.
template <typename Rows>
class TableSource : public Source {
 public:
  std::unique_ptr<Batch> make_batch() const final { return std::make_unique<Rows>(); }
  base::Status fill(Batch& batch) final { return fill_rows(static_cast<Rows&>(batch)); }

 protected:
  virtual base::Status fill_rows(Rows& rows) = 0;
};

// Fills in `out`, which takes `source` with it until it is released. Batches belong to the consumer
// until it releases them, in any thread, also after the stream; their memory is then used for
// others. An error of the source is EIO, and get_last_error has its sentence.
void export_stream(std::unique_ptr<Source> source, ArrowArrayStream* out);

// Fills in `out` with the columns of `batch`, and keeps nothing of it.
void export_schema(const Batch& batch, ArrowSchema* out);

}  // namespace heaptape::python
