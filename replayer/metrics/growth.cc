#include "replayer/metrics/growth.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using allocators::GrowthPoint;

constexpr int kOctaves = 5;              // considered, below the largest scale
constexpr double kLeastRange = 4;        // of the scale: two octaves
constexpr size_t kLeastPoints = 6;       // bands with work in them
constexpr double kMostIdleShare = 0.1;   // of the operations, in bands without work
constexpr double kLinearExponent = 0.9;  // called linear from here on
constexpr double kLinearLow = 0.75;      // the least that its interval must exclude
constexpr double kLeastOperations = 32;  // in the bands considered
constexpr double kFeltAtTop = 128;       // mean work at the largest scale: fewer steps are not news
constexpr double kFeltOnAverage = 16;    // mean work of all operations

// A band as the fit sees it.
struct LogPoint {
  double scale;
  double work;
  double weight;
};

double mean_scale(const GrowthPoint& point) {
  return static_cast<double>(point.scale_sum) / static_cast<double>(point.operations);
}
double mean_work(const GrowthPoint& point) {
  return static_cast<double>(point.work_sum) / static_cast<double>(point.operations);
}

// The bands to fit; none if they do not tell enough.
std::vector<LogPoint> points_to_fit(const std::vector<GrowthPoint>& bands) {
  std::vector<LogPoint> points;
  if (bands.empty()) return points;
  const double least_scale = std::max(1.0, std::ldexp(mean_scale(bands.back()), -kOctaves));
  double operations = 0;
  double idle = 0;
  for (const GrowthPoint& band : bands) {
    if (mean_scale(band) < least_scale) continue;
    const auto count = static_cast<double>(band.operations);
    operations += count;
    if (band.work_sum == 0) {
      idle += count;
      continue;
    }
    // A band with few operations says little about the mean; one with very many, hardly more than
    // others.
    points.push_back({std::log(mean_scale(band)), std::log(mean_work(band)), count / (count + 8)});
  }
  if (points.size() < kLeastPoints || operations < kLeastOperations ||
      idle > kMostIdleShare * operations ||
      points.back().scale - points.front().scale < std::log(kLeastRange)) {
    points.clear();
  }
  return points;
}

// Student's t at 97.5 %, within 2 % for four degrees of freedom, 1 % for more.
double t_quantile(double degrees) {
  return 1.960 + 2.37 / degrees + 2.8 / (degrees * degrees);
}

struct Line {
  double slope;
  double slope_error;  // half the 95 % confidence interval
};

Line fit_line(const std::vector<LogPoint>& points) {
  double weight = 0, scale = 0, work = 0;
  for (const LogPoint& point : points) {
    weight += point.weight;
    scale += point.weight * point.scale;
    work += point.weight * point.work;
  }
  scale /= weight;
  work /= weight;
  double variance = 0, covariance = 0;
  for (const LogPoint& point : points) {
    variance += point.weight * (point.scale - scale) * (point.scale - scale);
    covariance += point.weight * (point.scale - scale) * (point.work - work);
  }
  const double slope = covariance / variance;
  double residual = 0;
  for (const LogPoint& point : points) {
    const double error = point.work - work - slope * (point.scale - scale);
    residual += point.weight * error * error;
  }
  const auto degrees = static_cast<double>(points.size() - 2);
  return {slope, t_quantile(degrees) * std::sqrt(residual / degrees / variance)};
}

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

GrowthFit fit_growth(const allocators::GrowthCurve& curve) {
  GrowthFit fit;
  fit.operation = curve.operation;
  fit.work = curve.work;
  fit.scale = curve.scale;
  fit.operations = curve.operations;
  fit.work_total = curve.work_total;
  const std::vector<LogPoint> points = points_to_fit(curve.points);
  if (points.empty()) return fit;
  const Line line = fit_line(points);
  fit.is_fitted = true;
  fit.exponent = line.slope;
  fit.exponent_low = line.slope - line.slope_error;
  fit.exponent_high = line.slope + line.slope_error;
  fit.grows = fit.exponent >= kLinearExponent && fit.exponent_low >= kLinearLow &&
              points.back().work >= std::log(kFeltAtTop) &&
              static_cast<double>(curve.work_total) >=
                  kFeltOnAverage * static_cast<double>(curve.operations);
  return fit;
}

double worst_exponent(const std::vector<GrowthFit>& fits) {
  double worst = 0;
  for (const GrowthFit& fit : fits) {
    if (fit.grows) worst = std::max(worst, fit.exponent);
  }
  return worst;
}

std::string growth_sentence(const GrowthFit& fit) {
  if (!fit.grows) return "";
  return fit.operation + ": cost grows as n^" + one_decimal(fit.exponent) + " with the " +
         fit.scale + ": " + base::grouped(fit.work_total) + " " + fit.work + " over " +
         base::grouped(fit.operations) + " " + plural(fit.operation) + "; " +
         overall(fit.exponent) + " overall";
}

}  // namespace heaptape::replayer
