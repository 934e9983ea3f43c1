#include "replayer/report/tape_profile_fields.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "replayer/report/state_fields.h"
#include "replayer/report/tape_profile_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

void set_sizes(wire::TapeStats::Builder stats, const SizeHistogram& sizes) {
  const std::vector<SizeBucket> buckets = sizes.buckets();
  auto list = stats.initSizes(static_cast<unsigned>(buckets.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setFrom(buckets[i].from);
    list[i].setTo(buckets[i].to);
    list[i].setCalls(buckets[i].counts.calls);
    list[i].setBytes(buckets[i].counts.bytes);
    list[i].setSmallest(buckets[i].counts.smallest);
    list[i].setLargest(buckets[i].counts.largest);
    list[i].setLiveCount(buckets[i].counts.live_count);
    list[i].setOverRepresentedByCalls(buckets[i].by_calls);
    list[i].setOverRepresentedByBytes(buckets[i].by_bytes);
  }
}

void set_bands(wire::ProgramInfo::Builder out, const SizeBands& sizes) {
  const auto& bands = sizes.bands();
  const auto used = std::ranges::count_if(bands, [](const SizeBand& band) { return band.calls; });
  auto list = out.initSizes(static_cast<unsigned>(used));
  unsigned next = 0;
  for (uint32_t log2 = 0; log2 < bands.size(); ++log2) {
    const SizeBand& band = bands[log2];
    if (band.calls == 0) continue;
    list[next].setLog2Size(log2);
    list[next].setCalls(band.calls);
    list[next].setAskedBytes(band.asked_bytes);
    list[next].setPeakCount(band.kept_count);
    list[next++].setPeakBytes(band.kept_bytes);
  }
}

void set_median(wire::TapeStats::LifetimeCurve::Builder curve, const Lifetimes& lifetimes,
                const LogHistogram& histogram) {
  const auto median = lifetimes.quantile(histogram, 50);
  curve.setHasMedian(median.has_value());
  curve.setMedian(median.value_or(0));
}

void set_cdf(wire::TapeStats::LifetimeCurve::Builder curve, const std::vector<CdfPoint>& points) {
  auto list = curve.initCdf(static_cast<unsigned>(points.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setUpTo(points[i].up_to);
    list[i].setBlocks(points[i].blocks);
    list[i].setShare(points[i].share);
  }
}

// The last point of each octave: still exact, and at most 65.
std::vector<CdfPoint> by_octave(const std::vector<CdfPoint>& points) {
  std::vector<CdfPoint> last;
  for (const CdfPoint& point : points) {
    const bool is_same =
        !last.empty() && std::bit_width(last.back().up_to) == std::bit_width(point.up_to);
    if (is_same) last.pop_back();
    last.push_back(point);
  }
  return last;
}

void set_lifetimes(wire::TapeStats::Lifetimes::Builder out, const Lifetimes& lifetimes,
                   const LiveValues& live) {
  const uint64_t blocks = lifetimes.blocks();
  out.setBlocks(blocks);
  out.setFreed(lifetimes.in_calls().total());
  out.setSurvivors(live.live_count);
  out.setSurvivorBytes(live.live_bytes);
  out.setShareAtZero(ratio(live.temporaries, blocks));
  out.setShareUnderTenThousandth(ratio(lifetimes.under_ten_thousandth(), blocks));
  out.setShareUnderTenth(ratio(lifetimes.under_tenth(), blocks));
  set_median(out.initCalls(), lifetimes, lifetimes.in_calls());
}

void set_curves(wire::TapeStats::Lifetimes::Builder out, const Lifetimes& lifetimes,
                const LogHistogram* in_ns) {
  set_cdf(out.getCalls(), cdf(lifetimes.in_calls(), lifetimes.blocks()));
  if (in_ns == nullptr) return;
  set_median(out.initNs(), lifetimes, *in_ns);
  set_cdf(out.getNs(), cdf(*in_ns, lifetimes.blocks()));
}

void set_chains(capnp::List<wire::TapeStats::GrowthChain>::Builder list,
                const std::vector<GrowthChain>& chains, const CallSites* births) {
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setBirth(chains[i].birth);
    list[i].setThread(chains[i].thread);
    list[i].setFromBytes(chains[i].from_bytes);
    list[i].setToBytes(chains[i].to_bytes);
    list[i].setLength(chains[i].length);
    list[i].setCopiedBytes(chains[i].copied_bytes);
    if (births != nullptr) list[i].setSite(births->text(chains[i].birth));
  }
}

// `stats` builds TapeStats or ProgramInfo.
template <typename Builder>
void set_resizes(Builder stats, const GrowthChains& chains, const CallSites* births) {
  auto resizes = stats.initResizes();
  resizes.setInPlace(chains.in_place());
  resizes.setMoved(chains.moved());
  resizes.setMovedBytes(chains.moved_bytes());
  auto out = stats.initGrowthChains();
  out.setCount(chains.count());
  out.setGrowths(chains.growths());
  out.setCopiedBytes(chains.copied_bytes());
  set_chains(out.initCostliest(static_cast<unsigned>(chains.costliest().size())),
             chains.costliest(), births);
  set_chains(out.initLongest(static_cast<unsigned>(chains.longest().size())), chains.longest(),
             births);
}

void set_threads(wire::TapeStats::Builder stats, const ThreadTotals& threads) {
  const auto totals = threads.sorted();
  auto list = stats.initPerThread(static_cast<unsigned>(totals.size()));
  unsigned i = 0;
  for (const auto& [thread, total] : totals) {
    auto out = list[i++];
    out.setThread(thread);
    out.setCalls(total.calls);
    out.setAskedBytes(total.asked_bytes);
    out.setLiveCount(total.live_count);
    out.setLiveBytes(total.live_bytes);
    out.setForeignFrees(total.foreign_frees);
    out.setFreedByOthers(total.freed_by_others);
  }
}

}  // namespace

void set_profile(wire::TapeStats::Builder stats, const TapeCounts& counts,
                 const CallSites* births) {
  const ProgramProfile& program = counts.resolver.program();
  set_sizes(stats, counts.profile.sizes());
  set_lifetimes(stats.initLifetimes(), program.lifetimes(), counts.resolver.live().values());
  set_curves(stats.getLifetimes(), program.lifetimes(), counts.profile.lifetimes_ns());
  set_resizes(stats, program.growth_chains(), births);
  set_threads(stats, counts.profile.threads());
}

void set_program(wire::ProgramInfo::Builder out, const ProgramProfile& program,
                 const LiveValues& live) {
  set_lifetimes(out.initLifetimes(), program.lifetimes(), live);
  const Lifetimes& lifetimes = program.lifetimes();
  set_cdf(out.getLifetimes().getCalls(), by_octave(cdf(lifetimes.in_calls(), lifetimes.blocks())));
  set_bands(out, program.sizes());
  const std::vector<Cohort> peak = program.peak_cohorts().list();
  const std::vector<Cohort> end = program.end_cohorts().list();
  set_cohorts(out.initLiveAtPeak(static_cast<unsigned>(peak.size())), peak);
  set_cohorts(out.initLiveAtEnd(static_cast<unsigned>(end.size())), end);
  set_resizes(out, program.growth_chains(), nullptr);
}

}  // namespace heaptape::replayer
