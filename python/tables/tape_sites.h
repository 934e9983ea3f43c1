// The call sites of a tape: its stacks, the known facts about their code, and their sites.
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

// Functions and lines come from the symbol file beside the tape (`heaptape symbolize`). Code that
// it lacks, or all code without one, has only modules and offsets. Immutable: any thread may read
// it.
class TapeSites {
 public:
  // Makes a pass over the tape. Null if it has no stacks. Fails if the symbol file is of another
  // kind, is damaged, or belongs to another tape.
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
  replayer::Sites sites_;  // points into the members above
};

}  // namespace heaptape::python
