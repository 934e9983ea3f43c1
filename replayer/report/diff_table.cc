#include "replayer/report/diff_table.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/number_text.h"
#include "replayer/report/metric_text.h"
#include "replayer/sites/site_names.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kShownSites = 10;

TableRow row_of(const MetricRow& row) {
  return {row.name, value_text(row.base, row.unit), value_text(row.now, row.unit),
          change_text(row.base, row.now, row.unit), percent_text(row.base, row.now)};
}

// Functions of one short name are told apart.
std::vector<std::string> names_of(std::span<const SiteChange> shown) {
  std::vector<CodePlace> places;
  for (const auto& [place, base, now] : shown) {
    places.push_back({"", 0, {{place.function, place.file, place.line}}});
  }
  std::vector<Site> sites;
  for (const CodePlace& place : places) {
    const SourceFrame& source = place.source.front();
    sites.push_back({source.function.empty() ? nullptr : &place, &source});
  }
  std::vector<std::string> names = site_names(sites);
  for (size_t i = 0; i < shown.size(); ++i) {
    if (names[i].empty()) names[i] = short_text(shown[i].place);
  }
  return names;
}

}  // namespace

std::vector<TableRow> diff_table(const RunDiff& run, size_t rows) {
  std::vector<TableRow> table = {{"metric", "base", "new", "change", "%"}};
  for (size_t i = 0; i < rows; ++i) table.push_back(row_of(run.rows[i]));
  return table;
}

std::span<const SiteChange> shown_sites(const SiteChanges& changes) {
  return std::span(changes.sites).first(std::min(kShownSites, changes.sites.size()));
}

std::vector<TableRow> diff_table(const SiteChanges& changes) {
  std::vector<TableRow> table = {{"site", "base", "new", "change", "share of the change"}};
  const auto add = [&](const std::string& name, const SiteChange& site) {
    table.push_back({name, base::bytes_text(site.base), base::bytes_text(site.now),
                     change_text(site.base, site.now, schema::MetricUnit::kBytes),
                     signed_share_text(site.share(changes.base, changes.now))});
  };
  const SiteChange total{{}, changes.base, changes.now};
  SiteChange others = total;
  const std::span<const SiteChange> shown = shown_sites(changes);
  const std::vector<std::string> names = names_of(shown);
  for (size_t i = 0; i < shown.size(); ++i) {
    const SiteChange& site = shown[i];
    add(names[i], site);
    others.base -= std::min(others.base, site.base);
    others.now -= std::min(others.now, site.now);
  }
  if (others.base != 0 || others.now != 0) add("(others)", others);
  add("total", total);
  return table;
}

const char* state_text(GateState state) {
  switch (state) {
    case GateState::kPassed:
      return "PASS";
    case GateState::kFailed:
      return "FAIL";
    case GateState::kSkipped:
      break;
  }
  return "SKIP";
}

}  // namespace heaptape::replayer
