// Input for exports in tests: the tape of stack_tapes.h.
#pragma once

#include <optional>

#include "replayer/export/shown_stacks.h"
#include "replayer/sites/site_rules.h"

namespace heaptape::tests {

class SampleStacks {
 public:
  explicit SampleStacks(const replayer::SiteFilters& filters = {},
                        std::optional<replayer::Symbols> symbols = {});

  const replayer::ShownStacks& shown() const { return *shown_; }
  // The one whose calls requested that many bytes; null if it is not shown.
  const replayer::ShownStack* find(uint64_t asked_bytes) const;

 private:
  schema::Stacks stacks_;
  replayer::Symbols symbols_;
  std::optional<replayer::ShownStacks> shown_;
};

}  // namespace heaptape::tests
