#include "replayer/report/growth_text.h"

#include <cmath>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

std::string one_decimal(double value) {
  const std::string text = std::to_string(std::round(value * 10) / 10);
  return text.substr(0, text.find('.') + 2);
}

std::string plural(const std::string& noun) {
  return noun + (noun.ends_with("ch") || noun.ends_with("s") ? "es" : "s");
}

// The total cost of n operations as the number of blocks grows.
std::string overall(double exponent) {
  const double total = exponent + 1;
  if (std::abs(total - 2) < 0.15) return "quadratic";
  if (std::abs(total - 3) < 0.15) return "cubic";
  return "n^" + one_decimal(total);
}

}  // namespace

std::string growth_sentence(const GrowthFit& fit) {
  if (!fit.grows) return "";
  return fit.operation + ": cost grows as n^" + one_decimal(fit.exponent) + " with the " +
         fit.scale + ": " + base::grouped(fit.work_total) + " " + fit.work + " over " +
         base::grouped(fit.operations) + " " + plural(fit.operation) + "; " +
         overall(fit.exponent) + " overall";
}

}  // namespace heaptape::replayer
