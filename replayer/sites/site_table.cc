#include "replayer/sites/site_table.h"

#include <algorithm>
#include <cmath>

namespace heaptape::replayer {
namespace {

// By site number.
std::vector<SiteRow> rows_of(const StackProfile& profile, const Sites& sites) {
  std::vector<SiteRow> rows(sites.list().size());
  for (uint32_t site = 0; site < rows.size(); ++site) rows[site].site = site;
  profile.for_each([&](schema::FrameNumber stack, const StackTotals& totals) {
    rows[sites.of_stack(stack)].totals += totals;
  });
  return rows;
}

// `unit` is the count of one block in `lifetimes`.
void set_lifetimes(std::vector<SiteRow>& rows, const GroupedHistograms& lifetimes, uint64_t unit) {
  const std::vector<uint64_t> freed = lifetimes.totals(rows.size());
  std::vector<uint64_t> ranks(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t blocks = freed[i] + rows[i].totals.live_count * unit;
    rows[i].blocks = (blocks + unit / 2) / unit;
    ranks[i] = blocks / 2 + blocks % 2;
  }
  const auto medians = lifetimes.values_at(ranks);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].median_lifetime = medians[i];
}

}  // namespace

uint64_t value_of(const StackTotals& totals, StackValue value) {
  switch (value) {
    case StackValue::kPeak:
      return totals.peak_bytes;
    case StackValue::kEnd:
      return totals.live_bytes;
    case StackValue::kBytes:
      return totals.asked_bytes;
    case StackValue::kCalls:
      return totals.calls;
    case StackValue::kTemporaries:
      return totals.temporaries;
    case StackValue::kMapped:
      return totals.mapped_bytes;
  }
  return 0;
}

uint64_t standard_error(double variance) {
  if (variance <= 0) return 0;
  return static_cast<uint64_t>(std::llround(std::clamp(std::sqrt(variance), 1.0, 1e18)));
}

uint64_t standard_error(const StackTotals& totals, StackValue value) {
  switch (value) {
    case StackValue::kPeak:
      return standard_error(totals.variances.peak_bytes);
    case StackValue::kEnd:
      return standard_error(totals.variances.live_bytes);
    case StackValue::kBytes:
      return standard_error(totals.variances.asked_bytes);
    case StackValue::kCalls:
      return standard_error(totals.variances.calls);
    case StackValue::kTemporaries:
    case StackValue::kMapped:
      break;
  }
  return 0;
}

SiteTable site_table(const StackProfile& profile, const Sites& sites, StackValue order) {
  SiteTable table{
      .peak_at = profile.peak_at(), .total = {}, .left_out = {}, .rows = {}, .sampled = {}};
  if (profile.weight().is_sampled()) {
    table.sampled = {profile.weight().recording(), profile.sampled_calls(), profile.whole_tape()};
  }
  std::vector<SiteRow> rows = rows_of(profile, sites);
  set_lifetimes(rows, profile.lifetimes(), profile.lifetime_unit());
  for (SiteRow& row : rows) {
    if (row.totals == StackTotals()) continue;
    table.total += row.totals;
    if (sites.list()[row.site].is_shown) {
      table.rows.push_back(row);
    } else {
      table.left_out += row.totals;
    }
  }
  // Equal values keep the order of their frames on the tape.
  std::ranges::stable_sort(table.rows, std::greater<>(), [order](const SiteRow& row) {
    return std::pair(value_of(row.totals, order), row.totals.asked_bytes);
  });
  return table;
}

}  // namespace heaptape::replayer
