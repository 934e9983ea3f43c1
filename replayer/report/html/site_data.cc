#include "replayer/report/html/site_data.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/display_text.h"
#include "replayer/sites/frame_text.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kListed = 10;  // by each value; as many as the table shows

// The rows that are listed, in their order.
std::vector<SiteRow> listed_rows(const SiteTable& table) {
  std::vector<bool> is_listed(table.rows.size());
  std::vector<size_t> ranked(table.rows.size());
  std::iota(ranked.begin(), ranked.end(), size_t{0});
  for (size_t v = 0; v < schema::kStackValueNames.size(); ++v) {
    std::ranges::stable_sort(ranked, std::greater(), [&table, v](size_t row) {
      return value_of(table.rows[row].totals, static_cast<StackValue>(v));
    });
    for (size_t i = 0; i < std::min(kListed, ranked.size()); ++i) is_listed[ranked[i]] = true;
  }
  std::vector<SiteRow> rows;
  for (size_t row = 0; row < is_listed.size(); ++row) {
    if (is_listed[row]) rows.push_back(table.rows[row]);
  }
  return rows;
}

void write_names(JsonWriter& out, const std::vector<SiteRow>& rows, const Sites& sites) {
  std::vector<std::string> texts;
  std::vector<std::string> functions;
  std::vector<std::string> modules;
  for (const SiteRow& row : rows) {
    const Site& site = sites.list()[row.site];
    texts.push_back(sites.text(row.site));
    functions.push_back(site.place == nullptr ? sites.text(row.site)
                                              : frame_name(*site.place, site.source));
    modules.push_back(site.place == nullptr ? ""
                                            : base::display_text(last_part(site.place->module)));
  }
  out.name("texts");
  out.list(texts);
  out.name("functions");
  out.list(functions);
  out.name("modules");
  out.list(modules);
}

}  // namespace

void write_sites(JsonWriter& out, const RankedSites& sites) {
  const std::vector<SiteRow> rows = listed_rows(sites.table);
  out.open_object();
  write_names(out, rows, sites.sites);
  out.name("values");
  out.open_object();
  for (size_t v = 0; v < schema::kStackValueNames.size(); ++v) {
    std::vector<uint64_t> values;
    for (const SiteRow& row : rows) {
      values.push_back(value_of(row.totals, static_cast<StackValue>(v)));
    }
    out.name(schema::kStackValueNames[v]);
    out.list(values);
  }
  out.close_object();
  out.close_object();
}

}  // namespace heaptape::replayer
