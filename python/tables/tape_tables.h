// The tables of a tape; docs/python.md defines the rows of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "python/arrow/stream.h"
#include "python/tables/tape_sites.h"
#include "schema/tape/damage.h"

namespace heaptape::python {

// Each reads the tape once from beginning to end. Memory is bounded by a batch, except that blocks
// also need memory for the live blocks.
struct TapePath {
  std::string path;
  schema::OnDamage on_damage = schema::OnDamage::kStop;
};
using NewSource = base::Result<std::unique_ptr<Source>>;

NewSource open_events(const TapePath& tape);
// `sites` may be null: then no block has a site.
NewSource open_blocks(const TapePath& tape, std::shared_ptr<const TapeSites> sites);
NewSource open_samples(const TapePath& tape);
NewSource open_sample_owners(const TapePath& tape);
NewSource open_marks(const TapePath& tape);
NewSource open_mapping_calls(const TapePath& tape);
NewSource open_steering_calls(const TapePath& tape);
// These two read `sites`, which may be null: then they have no rows.
std::unique_ptr<Source> open_sites(std::shared_ptr<const TapeSites> sites);
std::unique_ptr<Source> open_stacks(std::shared_ptr<const TapeSites> sites);

}  // namespace heaptape::python
