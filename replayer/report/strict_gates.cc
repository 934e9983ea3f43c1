#include "replayer/report/strict_gates.h"

#include "base/check.h"

namespace heaptape::replayer {

std::vector<Gate> strict_gates() {
  // The bytes beside a percentage are what equal runs of a small program may differ by.
  constexpr const char* kExpressions[] = {
      "peak.liveBytes > +1% +64KiB",      "end.liveBytes > +1% +64KiB",
      "end.liveCount > +1% +100",         "peak.committedBytes > +30% +4MiB",
      "peak.residentBytes > +5% +1MiB",   "atPlateau.residentBytes > +5% +1MiB",
      "atExit.residentBytes > +5% +1MiB", "peak.holes.over1MiB > +2",
      "accounting.refused > 0",           "growth.worstExponent > +0.2",
      "tape.losses.lostEvents > 0",
  };
  std::vector<Gate> gates;
  for (const char* const expression : kExpressions) {
    auto gate = parse_gate(expression);
    HEAPTAPE_CHECK(gate.ok());
    gate->is_optional = true;
    gates.push_back(*std::move(gate));
  }
  return gates;
}

}  // namespace heaptape::replayer
