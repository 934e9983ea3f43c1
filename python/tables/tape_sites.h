// Who asked for the blocks of a tape: its stacks, with what is known of their code, and their
// sites.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "replayer/sites/sites.h"
#include "replayer/symbols/symbols.h"
#include "schema/tape/damage.h"
#include "schema/tape/stack.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::python {

// Functions and lines come from the file of symbols beside the tape (`heaptape symbolize`); code
// that it does not have, or without one all code, is modules and offsets. Fixed once made: any
// thread may read it.
class TapeSites {
 public:
  // A pass over the tape. Null where it has no stacks. Fails where the file of symbols is none, is
  // damaged, or is that of another tape.
  static base::Result<std::shared_ptr<const TapeSites>> read(const std::string& path,
                                                             schema::OnDamage on_damage);

  TapeSites(schema::Stacks stacks, replayer::Symbols symbols);
  TapeSites(const TapeSites&) = delete;
  TapeSites& operator=(const TapeSites&) = delete;

  const schema::Stacks& stacks() const { return stacks_; }
  const replayer::Symbols& symbols() const { return symbols_; }
  const replayer::Sites& sites() const { return sites_; }

 private:
  schema::Stacks stacks_;
  replayer::Symbols symbols_;
  replayer::Sites sites_;  // points into what stands above
};

}  // namespace heaptape::python
