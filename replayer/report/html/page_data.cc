#include "replayer/report/html/page_data.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "base/display_text.h"
#include "base/name_list.h"
#include "replayer/report/html/flame_data.h"
#include "replayer/report/tape_facts.h"
#include "replayer/sites/frame_text.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kListed = 10;  // for each value; as many as the table shows

// One value for each row of the table.
using Column = std::vector<uint64_t>;

Column pinned_column(const RankedSites& sites, const PinnedStacks& pinned) {
  Column by_site(sites.sites.list().size());
  for (const auto& [stack, bytes] : pinned.bytes) by_site[sites.sites.of_stack(stack)] += bytes;
  Column column;
  for (const SiteRow& row : sites.table.rows) column.push_back(by_site[row.site]);
  return column;
}

// In the order of the tree's values.
std::vector<Column> columns_of(const RankedSites& sites) {
  std::vector<Column> columns;
  for (size_t v = 0; v < schema::kStackValueNames.size(); ++v) {
    Column& column = columns.emplace_back();
    for (const SiteRow& row : sites.table.rows) {
      column.push_back(value_of(row.totals, static_cast<StackValue>(v)));
    }
  }
  for (const PinnedStacks& pinned : sites.pinned) columns.push_back(pinned_column(sites, pinned));
  return columns;
}

// The listed rows, ascending.
std::vector<size_t> listed_rows(size_t count, const std::vector<Column>& columns) {
  std::vector<bool> is_listed(count);
  std::vector<size_t> ranked(count);
  std::iota(ranked.begin(), ranked.end(), size_t{0});
  for (const Column& column : columns) {
    std::ranges::stable_sort(ranked, std::greater(), [&column](size_t row) { return column[row]; });
    for (size_t i = 0; i < std::min(kListed, count); ++i) is_listed[ranked[i]] = true;
  }
  std::vector<size_t> rows;
  for (size_t row = 0; row < count; ++row) {
    if (is_listed[row]) rows.push_back(row);
  }
  return rows;
}

void write_names(JsonWriter& out, const std::vector<size_t>& rows, const RankedSites& ranked) {
  const Sites& sites = ranked.sites;
  std::vector<std::string> texts;
  std::vector<std::string> functions;
  std::vector<std::string> modules;
  for (const size_t row : rows) {
    const uint32_t number = ranked.table.rows[row].site;
    const Site& site = sites.list()[number];
    texts.push_back(sites.text(number));
    functions.push_back(site.place == nullptr ? sites.text(number)
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

void write_owners_with_heaps(JsonWriter& out, const std::vector<schema::InnerAllocator>& files) {
  out.name("ownersWithHeaps");
  out.open_list();
  for (const schema::InnerAllocator& file : files) {
    const std::string owner = schema::owner_of_file(file.file);
    out.open_object();
    out.field("owner", owner);
    out.field("text", base::display_text(schema::owner_text(owner, files)));
    out.close_object();
  }
  out.close_list();
}

}  // namespace

void write_tape(JsonWriter& out, const schema::TapeReader& tape) {
  const schema::TapeHeader& header = tape.header();
  const schema::TapeSummary summary = tape.summary().value_or(schema::TapeSummary());
  out.open_object();
  out.field("path", base::display_text(tape.path()));
  out.field("command", base::display_text(base::command_text(header.command_line)));
  out.field("allocator", base::display_text(header.allocator));
  out.field("events", tape.events());
  out.field("threads", summary.threads);
  out.field("isFinished", tape.summary().has_value());
  out.field("durationNs", summary.duration_ns);
  out.field("recordedAt",
            header.start_unix_ns == 0 ? std::string() : utc_text(header.start_unix_ns));
  out.field("lostEvents", summary.losses.lost_events);
  out.field("unrepairedInversions", summary.losses.unrepaired_inversions);
  out.field("lostRanges", summary.losses.lost_ranges);
  out.field("unseen", schema::inner_calls_text(summary.inner_allocators));
  write_owners_with_heaps(out, summary.inner_allocators);
  out.field("importedFrom", base::display_text(header.origin.format));
  out.field("lacks", base::name_list(schema::absent_names(header.origin)));
  out.close_object();
}

void write_value(JsonWriter& out, const std::optional<schema::MetricValue>& value) {
  if (!value) return out.null();
  std::visit([&out](auto number) { out.number(number); }, *value);
}

void write_sites(JsonWriter& out, const RankedSites& sites) {
  const std::vector<Column> columns = columns_of(sites);
  const std::vector<size_t> rows = listed_rows(sites.table.rows.size(), columns);
  out.open_object();
  write_names(out, rows, sites);
  out.name("values");
  out.open_object();
  for (size_t v = 0; v < columns.size(); ++v) {
    std::vector<uint64_t> values;
    for (const size_t row : rows) values.push_back(columns[v][row]);
    out.name(value_key(v));
    out.list(values);
  }
  out.close_object();
  out.close_object();
}

}  // namespace heaptape::replayer
