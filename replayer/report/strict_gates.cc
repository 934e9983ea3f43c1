#include "replayer/report/strict_gates.h"

#include "base/check.h"

namespace heaptape::replayer {

std::vector<Gate> strict_gates() {
  // What the program does repeats exactly on one tape. What an allocator holds may not.
  constexpr const char* kExpressions[] = {
      "peak.liveBytes > +1%",        "end.liveBytes > +1%",      "end.liveCount > +1%",
      "peak.committedBytes > +5%",   "peak.residentBytes > +5%", "atPlateau.residentBytes > +5%",
      "atExit.residentBytes > +5%",  "peak.holes.over1MiB > +2", "accounting.refused > 0",
      "growth.worstExponent > +0.2",
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
