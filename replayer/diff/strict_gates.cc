#include "replayer/diff/strict_gates.h"

#include "base/check.h"

namespace heaptape::replayer {

std::vector<Gate> strict_gates() {
  // Equal runs of a small program may differ by the bytes beside a percentage.
  constexpr struct {
    const char* expression;
    bool is_optional;  // some runs lack it
  } kGates[] = {
      {"peak.liveBytes > +1% +64KiB", false},     {"end.liveBytes > +1% +64KiB", false},
      {"end.liveCount > +1% +100", false},        {"peak.committedBytes > +30% +4MiB", false},
      {"peak.residentBytes > +5% +1MiB", false},  {"atPlateau.residentBytes > +5% +1MiB", true},
      {"atExit.residentBytes > +5% +1MiB", true}, {"peak.holes.over1MiB > +2", true},
      {"accounting.refused > 0", false},          {"growth.worstExponent > +0.2", true},
      {"tape.losses.lostEvents > 0", true},
  };
  std::vector<Gate> gates;
  for (const auto& [expression, is_optional] : kGates) {
    auto gate = parse_gate(expression);
    HEAPTAPE_CHECK(gate.ok());
    gate->is_optional = is_optional;
    gates.push_back(*std::move(gate));
  }
  return gates;
}

}  // namespace heaptape::replayer
