#include <algorithm>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/report/csv_field.h"
#include "replayer/report/metric_text.h"
#include "replayer/report/short_name.h"
#include "replayer/report/site_stats.h"
#include "replayer/report/text_table.h"

namespace heaptape::replayer {
namespace {

using base::bytes_text;
using base::grouped;

struct Column {
  const char* heading;
  StackValue value;
  bool is_bytes;
};
constexpr Column kColumns[] = {{"bytes at peak", StackValue::kPeak, true},
                               {"bytes at end", StackValue::kEnd, true},
                               {"bytes asked for", StackValue::kBytes, true},
                               {"calls", StackValue::kCalls, false},
                               {"temporaries", StackValue::kTemporaries, false}};

std::string short_text(const Sites& sites, uint32_t number) {
  const Site& site = sites.list()[number];
  if (site.source == nullptr) return sites.text(number);
  SourceFrame source = *site.source;
  source.function = short_name(source.function);
  return frame_text(*site.place, &source);
}

TableRow table_row(const std::string& name, const StackTotals& totals, const SiteTable& table,
                   StackValue order, const std::string& lifetime) {
  TableRow row{name};
  for (const Column& column : kColumns) {
    const uint64_t value = value_of(totals, column.value);
    row.push_back(column.is_bytes ? bytes_text(value) : grouped(value));
    if (column.value == order) row.push_back(share_text(value, value_of(table.total, order)));
  }
  row.push_back(lifetime);
  row.push_back(grouped(totals.freed_by_others));
  return row;
}

TableRow heading(StackValue order) {
  TableRow row{"site"};
  for (const Column& column : kColumns) {
    row.push_back(column.heading);
    if (column.value == order) row.push_back("");
  }
  row.push_back("median lifetime");
  row.push_back("freed by others");
  return row;
}

std::string lifetime_text(const SiteRow& row) {
  if (row.blocks == 0) return "-";
  return row.median_lifetime ? grouped(*row.median_lifetime) : "never freed";
}

// The columns of CSV that say which site it is.
std::string place_fields(const Sites& sites, uint32_t number) {
  const Site& site = sites.list()[number];
  const SourceFrame source = site.source == nullptr ? SourceFrame() : *site.source;
  const CodePlace place = site.place == nullptr ? CodePlace() : *site.place;
  std::string text = csv_field(sites.text(number));
  for (const std::string& field : {source.function, source.file, std::to_string(source.line),
                                   place.module, std::to_string(place.offset)}) {
    text += "," + csv_field(base::valid_utf8(field));
  }
  return text;
}

}  // namespace

std::string sites_text(const SiteTable& table, const Sites& sites, StackValue order, size_t top) {
  std::vector<TableRow> rows{heading(order)};
  StackTotals others = table.left_out;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const SiteRow& row = table.rows[i];
    if (i < top) {
      rows.push_back(
          table_row(short_text(sites, row.site), row.totals, table, order, lifetime_text(row)));
    } else {
      others += row.totals;
    }
  }
  if (others.calls != 0) rows.push_back(table_row("(others)", others, table, order, ""));
  rows.push_back(table_row("total", table.total, table, order, ""));
  std::string text = aligned(rows);
  if (table.rows.size() > top) {
    text += "... and " + base::counted(table.rows.size() - top, "site") +
            " more: --top N shows more, --json and --csv have all\n";
  }
  return text;
}

std::string sites_csv(const SiteTable& table, const Sites& sites) {
  std::string text =
      "site,function,file,line,module,offset,calls,askedBytes,peakBytes,peakCount,liveBytes,"
      "liveCount,temporaries,freedByOthers,blocks,medianLifetime\n";
  for (const SiteRow& row : table.rows) {
    const StackTotals& totals = row.totals;
    text += place_fields(sites, row.site);
    for (const uint64_t number :
         {totals.calls, totals.asked_bytes, totals.peak_bytes, totals.peak_count, totals.live_bytes,
          totals.live_count, totals.temporaries, totals.freed_by_others, row.blocks}) {
      text += "," + std::to_string(number);
    }
    text += "," + (row.median_lifetime ? std::to_string(*row.median_lifetime) : "") + "\n";
  }
  return text;
}

}  // namespace heaptape::replayer
