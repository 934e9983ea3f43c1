// Hands tables to readers of Arrow's C stream interface.
#pragma once

#include <memory>

#include "base/result.h"
#include "python/arrow/batch.h"
#include "python/arrow/c_data.h"

namespace heaptape::python {

// Makes the rows of one table, in order. One thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  // Makes an empty batch; all have the same columns.
  virtual std::unique_ptr<Batch> make_batch() const = 0;
  // Adds rows to an empty batch of make_batch(). Adds none at the end of the table.
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

// Fills in `out`, which owns `source` until it is released. The consumer owns each batch until it
// releases it, in any thread, even after the stream; later batches then reuse its memory. An error
// of the source is EIO, and get_last_error has its sentence.
void export_stream(std::unique_ptr<Source> source, ArrowArrayStream* out);

// Fills in `out` with the columns of `batch`, and keeps no reference to it.
void export_schema(const Batch& batch, ArrowSchema* out);

}  // namespace heaptape::python
