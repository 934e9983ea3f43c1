#include "replayer/report/tape_profile_rows.h"

#include "base/number_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

// `bytes` is empty if a bucket has none.
std::string csv_line(const std::string& what, const CdfPoint& point, const std::string& bytes) {
  std::string line = what;
  for (const uint64_t number : {point.from, point.up_to, point.count}) {
    line += "," + std::to_string(number);
  }
  return line + "," + bytes + base::format_text(",%.9g\n", point.share);
}

std::string sizes_csv(const SizeHistogram& sizes) {
  std::string text;
  const uint64_t calls = sizes.total().calls;
  uint64_t so_far = 0;
  for (const SizeBucket& bucket : sizes.buckets()) {
    so_far += bucket.counts.calls;
    text += csv_line("size",
                     {bucket.from, bucket.to, bucket.counts.calls, so_far, ratio(so_far, calls)},
                     std::to_string(bucket.counts.bytes));
  }
  return text;
}

std::string lifetimes_csv(const std::string& what, const LogHistogram& lifetimes, uint64_t blocks) {
  std::string text;
  for (const CdfPoint& point : cdf(lifetimes, blocks)) text += csv_line(what, point, "");
  return text;
}

}  // namespace

std::vector<CdfPoint> cdf(const LogHistogram& lifetimes, uint64_t blocks) {
  std::vector<CdfPoint> points;
  uint64_t so_far = 0;
  for (const LogHistogram::Bucket& bucket : lifetimes.buckets()) {
    so_far += bucket.count;
    points.push_back({bucket.from, bucket.to, bucket.count, so_far, ratio(so_far, blocks)});
  }
  return points;
}

std::string profile_csv(const TapeCounts& counts) {
  const Lifetimes& lifetimes = counts.resolver.program().lifetimes();
  const LogHistogram* const in_ns = counts.profile.lifetimes_ns();
  const uint64_t blocks = lifetimes.blocks();
  std::string text = "what,from,to,count,bytes,cumulativeShare\n" +
                     sizes_csv(counts.profile.sizes()) +
                     lifetimes_csv("lifetimeCalls", lifetimes.in_calls(), blocks);
  if (in_ns != nullptr) text += lifetimes_csv("lifetimeNs", *in_ns, blocks);
  return text;
}

}  // namespace heaptape::replayer
