#include "replayer/report/tape_profile_text.h"

#include <algorithm>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/text/metric_text.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

using base::bytes_text;
using base::grouped;

constexpr size_t kSizesPrinted = 8;
constexpr size_t kChainsPrinted = 5;  // of each list

// The only size asked for, or the borders of the bucket.
std::string size_text(const SizeBucket& bucket) {
  if (bucket.counts.smallest == bucket.counts.largest) return grouped(bucket.counts.smallest);
  if (bucket.to == UINT64_MAX) return grouped(bucket.from) + " and more";
  return grouped(bucket.from) + " to " + grouped(bucket.to);
}

std::string verdict(const SizeBucket& bucket) {
  if (bucket.by_calls && bucket.by_bytes) return "in calls and bytes";
  if (bucket.by_calls) return "in calls";
  return bucket.by_bytes ? "in bytes" : "";
}

std::string size_rows(const std::vector<SizeBucket>& buckets, const SizeCounts& all) {
  std::vector<TableRow> rows{
      {"size in bytes", "calls", "", "bytes", "", "live at end", "over-represented"}};
  for (const SizeBucket& bucket : buckets) {
    const SizeCounts& counts = bucket.counts;
    rows.push_back({size_text(bucket), grouped(counts.calls), share_text(counts.calls, all.calls),
                    bytes_text(counts.bytes), share_text(counts.bytes, all.bytes),
                    grouped(counts.live_count), verdict(bucket)});
  }
  return aligned(rows);
}

// The sizes with the largest share of calls or bytes, largest first.
std::string dominant_sizes(const SizeHistogram& sizes) {
  const SizeCounts all = sizes.total();
  const auto weight = [&all](const SizeBucket& bucket) {
    return std::max(ratio(bucket.counts.calls, all.calls), ratio(bucket.counts.bytes, all.bytes));
  };
  std::vector<SizeBucket> buckets = sizes.buckets();
  std::ranges::stable_sort(buckets, std::greater<>(), weight);
  const size_t left_out = buckets.size() - std::min(buckets.size(), kSizesPrinted);
  buckets.resize(buckets.size() - left_out);
  std::string text = size_rows(buckets, all);
  if (left_out != 0) text += "... and " + grouped(left_out) + " more: --by size lists all\n";
  return text;
}

// `in_ns` may be null.
std::string lifetime_rows(const Lifetimes& lifetimes, const LogHistogram* in_ns,
                          const schema::TapeOrigin& origin) {
  const std::string never = "never freed";
  std::vector<TableRow> rows{{"lifetime of blocks", "calls"}};
  if (in_ns != nullptr) rows[0].push_back("time");
  for (const unsigned part : {25u, 50u, 75u, 90u, 99u}) {
    const auto calls = lifetimes.quantile(lifetimes.in_calls(), part);
    rows.push_back({std::to_string(part) + "% live at most" + (part == 50 ? " (median)" : ""),
                    calls ? grouped(*calls) : never});
    if (in_ns == nullptr) continue;
    const auto ns = lifetimes.quantile(*in_ns, part);
    rows.back().push_back(ns ? base::duration_text(static_cast<double>(*ns)) : never);
  }
  const bool lacks_times = origin.lacks(schema::Absent::kTimes);
  return aligned(rows) + (lacks_times ? "lifetimes in time: not in this trace\n" : "");
}

std::string lifetime_shares(const SlotResolver& resolver, const schema::TapeOrigin& origin) {
  const Lifetimes& lifetimes = resolver.program().lifetimes();
  const LiveValues& live = resolver.live().values();
  std::vector<TableRow> rows{{"lifetimes by share", "blocks", "", ""}};
  const auto add = [&](const char* name, uint64_t blocks, const std::string& bytes) {
    rows.push_back({name, grouped(blocks), share_text(blocks, lifetimes.blocks()), bytes});
  };
  add("freed by the next call (temporaries)", live.temporaries, "");
  add("lived under 0.01% of the run's calls", lifetimes.under_ten_thousandth(), "");
  add("lived under 10% of the run's calls", lifetimes.under_tenth(), "");
  if (resolver.foreign_releases() != 0) {
    add("freed by another thread", resolver.foreign_releases(), "");
  }
  if (origin.lacks(schema::Absent::kSurvivors)) {
    return aligned(rows) + "never freed (survivors): not in this trace\n";
  }
  add("never freed (survivors)", live.live_count, bytes_text(live.live_bytes));
  return aligned(rows);
}

std::string resize_rows(const GrowthChains& chains) {
  const uint64_t resizes = chains.in_place() + chains.moved();
  std::vector<TableRow> rows{
      {"resizes", "count", "", "bytes copied"},
      {"in place", grouped(chains.in_place()), share_text(chains.in_place(), resizes), ""},
      {"moved", grouped(chains.moved()), share_text(chains.moved(), resizes),
       bytes_text(chains.moved_bytes())}};
  if (chains.count() != 0) {
    rows.push_back({"growths in " + base::counted(chains.count(), "growth chain"),
                    grouped(chains.growths()), share_text(chains.growths(), resizes),
                    bytes_text(chains.copied_bytes())});
  }
  return aligned(rows);
}

// The costliest and the longest few, each only once.
std::string chain_rows(const GrowthChains& chains, const CallSites* births) {
  std::vector<TableRow> rows{{"block born", "thread", "from", "to", "growths", "bytes copied"}};
  const auto add = [&rows, births](const std::vector<GrowthChain>& list) {
    for (size_t i = 0; i < std::min(list.size(), kChainsPrinted); ++i) {
      const GrowthChain& chain = list[i];
      TableRow row{"#" + grouped(chain.birth),   "t" + std::to_string(chain.thread),
                   bytes_text(chain.from_bytes), bytes_text(chain.to_bytes),
                   grouped(chain.length),        bytes_text(chain.copied_bytes)};
      if (std::ranges::find(rows, row) != rows.end()) continue;
      rows.push_back(std::move(row));
      if (births != nullptr) rows.push_back({"  for " + births->short_text(chain.birth)});
    }
  };
  add(chains.costliest());
  add(chains.longest());
  return rows.size() == 1 ? "" : "\n" + aligned(rows);
}

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

std::string profile_text(const TapeCounts& counts, const CallSites* births,
                         const schema::TapeOrigin& origin) {
  const Lifetimes& lifetimes = counts.resolver.program().lifetimes();
  const GrowthChains& chains = counts.resolver.program().growth_chains();
  if (lifetimes.blocks() == 0) return "";
  std::string text = "\n" + dominant_sizes(counts.profile.sizes()) + "\n" +
                     lifetime_rows(lifetimes, counts.profile.lifetimes_ns(), origin) + "\n" +
                     lifetime_shares(counts.resolver, origin);
  if (origin.lacks(schema::Absent::kResizes)) return text + "\nresizes: not in this trace\n";
  if (chains.in_place() + chains.moved() == 0) return text;
  if (origin.lacks(schema::Absent::kAddresses)) {
    return text + "\nresizes in place and moved: not in this trace\n" + chain_rows(chains, births);
  }
  return text + "\n" + resize_rows(chains) + chain_rows(chains, births);
}

std::string sizes_table(const SizeHistogram& sizes) {
  return size_rows(sizes.buckets(), sizes.total());
}

std::string threads_table(const ThreadTotals& threads,
                          const std::vector<schema::ThreadIdentity>& names) {
  std::vector<TableRow> rows{{"thread", "calls", "bytes requested", "live blocks", "live bytes",
                              "foreign frees", "freed by another thread"}};
  for (const auto& [thread, total] : threads.sorted()) {
    std::string name = "t" + std::to_string(thread);
    if (thread < names.size()) name += " " + base::display_text(names[thread].name);
    rows.push_back({name, grouped(total.calls), bytes_text(total.asked_bytes),
                    grouped(total.live_count), bytes_text(total.live_bytes),
                    grouped(total.foreign_frees), grouped(total.freed_by_others)});
  }
  return aligned(rows);
}

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
