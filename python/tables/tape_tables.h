// The tables of a tape: what each row is, docs/python.md says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "python/arrow/stream.h"
#include "python/tables/tape_sites.h"
#include "schema/tape/damage.h"

namespace heaptape::python {

// Each reads the tape once from its beginning to its end. Memory is bounded by a batch, and that of
// blocks by the blocks that are live.
struct TapePath {
  std::string path;
  schema::OnDamage on_damage = schema::OnDamage::kStop;
};
using NewSource = base::Result<std::unique_ptr<Source>>;

NewSource open_events(const TapePath& tape);
// `sites` may be null: then no block has one.
NewSource open_blocks(const TapePath& tape, std::shared_ptr<const TapeSites> sites);
NewSource open_samples(const TapePath& tape);
NewSource open_marks(const TapePath& tape);
// These two are made of `sites`, which may be null: then they have no rows.
std::unique_ptr<Source> open_sites(std::shared_ptr<const TapeSites> sites);
std::unique_ptr<Source> open_stacks(std::shared_ptr<const TapeSites> sites);

}  // namespace heaptape::python
