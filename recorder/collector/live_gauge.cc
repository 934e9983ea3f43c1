#include "recorder/collector/live_gauge.h"

#include <algorithm>

namespace heaptape::recorder {
namespace {

void add_to(LiveBands& sum, const LiveBands& bands) {
  for (size_t band = 0; band < kSizeBands; ++band) {
    sum[band].bytes += bands[band].bytes;
    sum[band].blocks += bands[band].blocks;
  }
}

double per_second(uint64_t calls, uint64_t ns) {
  constexpr double kSecondNs = 1e9;
  return ns == 0 ? 0 : static_cast<double>(calls) * kSecondNs / static_cast<double>(ns);
}

void add_totals(LiveFigures& figures, const ProcessTotals& totals) {
  figures.calls += totals.calls;
  figures.lost += totals.troubles.lost;
  figures.stalls += totals.troubles.stalls;
  figures.stall_ns += totals.troubles.stall_ns;
}

}  // namespace

LiveFigures LiveGauge::read(const ProcessTable& table, uint64_t now_ns) {
  LiveFigures figures;
  LiveBands bands{};
  figures.time_ns = now_ns - start_ns_;
  figures.processes = table.processes().size();
  figures.ended_processes = table.ended().processes;
  add_totals(figures, table.ended());
  for (const auto& [slot, process] : table.processes()) {
    add_totals(figures, process->totals());
    if (const LiveSizes* const sizes = process->merge().sizes()) add_to(bands, sizes->bands());
    if (const auto resident = process->resident_bytes()) {
      figures.resident_bytes = figures.resident_bytes.value_or(0) + *resident;
    }
  }
  for (const LiveTotals& band : bands) {
    figures.live_bytes += band.bytes;
    figures.live_blocks += band.blocks;
  }
  figures.calls_per_second = per_second(figures.calls - calls_, now_ns - read_ns_);
  const WrittenSoFar written = table.written();
  figures.tape_bytes = written.bytes;
  figures.tape_calls = written.calls;
  while (looks_.size() > 1 && now_ns - looks_[1].time_ns >= kGrowthNs) looks_.pop_front();
  figures.growth = largest_growth(bands, now_ns);
  looks_.push_back({now_ns, bands});
  read_ns_ = now_ns;
  calls_ = figures.calls;
  return figures;
}

std::optional<LiveGrowth> LiveGauge::largest_growth(const LiveBands& now, uint64_t now_ns) const {
  const Look& before = looks_.front();
  std::optional<LiveGrowth> largest;
  for (size_t band = 0; band < kSizeBands; ++band) {
    const LiveTotals& was = before.bands[band];
    const uint64_t grown = now[band].bytes - std::min(was.bytes, now[band].bytes);
    if (grown == 0 || (largest && largest->bytes >= grown)) continue;
    largest = {band_first(band), band_last(band), grown, now_ns - before.time_ns};
  }
  return largest;
}

LiveFigures LiveGauge::complete(LiveFigures figures, const ProcessTable& table) const {
  figures.is_last = true;
  figures.calls = figures.lost = figures.stalls = figures.stall_ns = 0;
  add_totals(figures, table.ended());
  figures.calls_per_second = per_second(figures.calls, figures.time_ns);
  const WrittenSoFar written = table.written();
  figures.tape_bytes = written.bytes;
  figures.tape_calls = written.calls;
  return figures;
}

}  // namespace heaptape::recorder
