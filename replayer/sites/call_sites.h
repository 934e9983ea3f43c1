// Who made some of the calls of a tape. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/sites/sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

class CallSites {
 public:
  // Reads the tape where the calls are, and no further; `calls` are their numbers, from 1, in any
  // order, and may have some twice. `sites` outlives this.
  static base::Result<CallSites> read(schema::TapeReader& tape, const Sites& sites,
                                      std::vector<uint64_t> calls);

  const Sites& sites() const { return *sites_; }
  // Sites::kNone of a call that was not asked for.
  uint32_t of_call(uint64_t call) const;
  // As Sites::text has it.
  std::string text(uint64_t call) const { return sites_->text(of_call(call)); }

 private:
  explicit CallSites(const Sites& sites) : sites_(&sites) {}

  const Sites* sites_;
  std::vector<uint64_t> calls_;  // ascending
  std::vector<uint32_t> site_;   // of each
};

}  // namespace heaptape::replayer
