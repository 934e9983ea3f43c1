#include <algorithm>
#include <functional>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/report/site_stats.h"
#include "replayer/text/csv_field.h"
#include "replayer/text/metric_text.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

using base::bytes_text;
using base::grouped;

struct Column {
  const char* heading;
  SiteOrder value;
  bool is_bytes;
};
constexpr Column kColumns[] = {
    {"bytes at peak", StackValue::kPeak, true},       {"bytes at end", StackValue::kEnd, true},
    {"bytes requested", StackValue::kBytes, true},    {"calls", StackValue::kCalls, false},
    {"temporaries", StackValue::kTemporaries, false}, {"bytes mapped", StackValue::kMapped, true}};
constexpr Column kHeapColumns[] = {{"pinned", HeapValue::kPinned, true},
                                   {"slack", HeapValue::kSlack, true}};

constexpr std::string_view kLeastFirst[] = {
    "freed by another thread", "median lifetime", "temporaries", "slack", "bytes mapped",
    "bytes requested",         "bytes at end",    "calls",       "pinned"};

// A line of the table.
struct Line {
  std::string name;
  StackTotals totals;
  std::string lifetime = "";
  const HeapSite* heap = nullptr;  // null: not known
  bool has_share = true;           // it is part of the total
};

class Table {
 public:
  Table(const SiteAnswer& answer, SiteOrder order) : answer_(answer), order_(order) {}

  TableRow heading() const {
    TableRow row{"site"};
    for (const Column& column : kColumns) {
      if (is_shown(column)) add_heading(row, column);
    }
    row.push_back("median lifetime");
    row.push_back("freed by another thread");
    if (answer_.heap == nullptr) return row;
    for (const Column& column : kHeapColumns) add_heading(row, column);
    return row;
  }

  // Columns that a narrow terminal can do without: not the one that orders the sites.
  std::vector<size_t> least_first() const {
    const TableRow all = heading();
    std::vector<size_t> columns;
    for (const std::string_view least : kLeastFirst) {
      const auto found = static_cast<size_t>(std::ranges::find(all, least) - all.begin());
      const bool orders = found + 1 < all.size() && all[found + 1] == "share";
      if (found < all.size() && !orders) columns.push_back(found);
    }
    return columns;
  }

  TableRow row_of(const Line& line) const {
    TableRow row{line.name};
    for (const Column& column : kColumns) {
      if (!is_shown(column)) continue;
      const auto value = std::get<StackValue>(column.value);
      const uint64_t whole = value_of(answer_.table.total, value);
      add(row, column, value_of(line.totals, value), standard_error(line.totals, value),
          line.has_share ? &whole : nullptr);
    }
    row.push_back(line.lifetime);
    row.push_back(grouped(line.totals.freed_by_others));
    if (answer_.heap != nullptr) add_heap(row, line.heap);
    return row;
  }

 private:
  // Most programs map nothing themselves.
  bool is_shown(const Column& column) const {
    return column.value != SiteOrder(StackValue::kMapped) || column.value == order_ ||
           answer_.table.total.mapped_bytes != 0;
  }
  void add_heading(TableRow& row, const Column& column) const {
    row.push_back(column.heading);
    if (column.value == order_) row.push_back("share");
  }
  // Adds no share if `whole` is null.
  void add(TableRow& row, const Column& column, uint64_t value, uint64_t error,
           const uint64_t* whole) const {
    row.push_back(column.is_bytes ? base::estimated_bytes_text(value, error)
                                  : base::estimated_text(value, error));
    if (column.value == order_) row.push_back(whole == nullptr ? "" : share_text(value, *whole));
  }
  void add_heap(TableRow& row, const HeapSite* heap) const {
    for (const Column& column : kHeapColumns) {
      const auto value = std::get<HeapValue>(column.value);
      const HeapOfSites& all = *answer_.heap;
      const bool is_unknown = value == HeapValue::kSlack ? !all.knows_slack : !all.knows_pinned;
      if (heap != nullptr && !is_unknown) {
        const uint64_t whole = value_of(answer_.heap->total, value);
        const bool is_pinned = value == HeapValue::kPinned;
        add(row, column, value_of(*heap, value), is_pinned ? heap->errors.resident_hole_bytes : 0,
            &whole);
        continue;
      }
      row.push_back(is_unknown ? "-" : "");
      if (column.value == order_) row.push_back("");
    }
  }

  const SiteAnswer& answer_;
  SiteOrder order_;
};

// Names the heap of the last columns.
std::string heap_text(const HeapOfSites& heap) {
  const std::string at =
      heap.moment.name.starts_with('#') ? "" : " at " + base::display_text(heap.moment.name);
  std::string text = "pinned and slack: on " + base::display_text(heap.label) + at + ", after #" +
                     grouped(heap.moment.event) +
                     "; a hole between blocks of two sites counts for both\n";
  const std::string unknown = heap.knows_slack    ? heap.knows_pinned ? "" : "pinned bytes are"
                              : heap.knows_pinned ? "slack is"
                                                  : "pinned bytes and slack are";
  if (!unknown.empty()) {
    text += unknown + " unknown for this allocator: choose another one with -a\n";
  }
  return text;
}

std::string lifetime_text(const SiteRow& row) {
  if (row.blocks == 0) return "-";
  return row.median_lifetime ? base::counted(*row.median_lifetime, "call") : "never freed";
}

std::string sampling_text(const SampledSites& sampled) {
  const schema::StackRecording& recording = sampled.recording;
  const std::string calls = base::counted(sampled.calls, "call");
  const std::string sizes = recording.sizes.empty() ? "" : schema::sizes_text(recording.sizes);
  if (recording.every_bytes == 0) {
    return "sites of calls for " + sizes + " only: the stacks of " + calls +
           " were recorded; the whole-tape line is for all sizes\n";
  }
  return "estimated from the stacks of " + calls + ", chosen at random: one byte in " +
         bytes_text(recording.every_bytes) + (sizes.empty() ? "" : ", and all calls for " + sizes) +
         "; +- is the standard error, and the whole-tape line is exact\n";
}

// The CSV columns that identify a site.
std::string place_fields(const Sites& sites, uint32_t number) {
  const Site& site = sites.list()[number];
  const SourceFrame source = site.source == nullptr ? SourceFrame() : *site.source;
  const CodePlace place = site.place == nullptr ? CodePlace() : *site.place;
  std::string text = csv_field(sites.text(number));
  for (const std::string& field : {source.function, source.file, std::to_string(source.line),
                                   place.module, std::to_string(place.offset)}) {
    text += "," + csv_field(base::display_text(field));
  }
  return text;
}

// The CSV columns about the heap; empty if not known.
std::string heap_fields(const HeapOfSites* heap, uint32_t site) {
  if (heap == nullptr) return ",,,";
  const HeapSite& of = heap->by_site[site];
  return "," + (heap->knows_slack ? std::to_string(of.slack_bytes) : "") + "," +
         std::to_string(of.hole_bytes) + "," +
         (heap->knows_pinned ? std::to_string(of.resident_hole_bytes) : "");
}

constexpr size_t kTopShown = 3;  // for each value

struct Value {
  const char* heading;
  uint64_t StackTotals::* of;
  bool is_bytes;
  StackValue with_error = StackValue::kMapped;  // whose error is that of the value; or none

  std::string text(const StackTotals& totals) const {
    const uint64_t error = standard_error(totals, with_error);
    return is_bytes ? base::estimated_bytes_text(totals.*of, error)
                    : base::estimated_text(totals.*of, error);
  }
};
constexpr Value kValues[] = {
    {"holding most at the peak", &StackTotals::peak_bytes, true, StackValue::kPeak},
    {"alive at the end", &StackTotals::live_bytes, true, StackValue::kEnd},
    {"temporaries", &StackTotals::temporaries, false},
    {"freed by another thread", &StackTotals::freed_by_others, false},
    {"copied by resizes", &StackTotals::moved_bytes, true},
    {"mapped beside malloc", &StackTotals::mapped_bytes, true},
};

void add_rows(std::vector<TableRow>& rows, const Value& value, const SiteTable& table,
              const Sites& sites) {
  std::vector<SiteRow> ranked = table.rows;
  const auto amount = [&value](const SiteRow& row) { return row.totals.*value.of; };
  std::erase_if(ranked, [&amount](const SiteRow& row) { return amount(row) == 0; });
  std::ranges::stable_sort(ranked, std::greater(), amount);
  if (ranked.empty()) return;
  rows.push_back({value.heading, value.is_bytes ? "bytes" : "blocks", "share"});
  for (size_t i = 0; i < std::min(kTopShown, ranked.size()); ++i) {
    const uint64_t part = amount(ranked[i]);
    rows.push_back({"  " + sites.short_text(ranked[i].site), value.text(ranked[i].totals),
                    share_text(part, table.total.*value.of)});
  }
}

}  // namespace

uint64_t value_of(const HeapSite& site, HeapValue value) {
  return value == HeapValue::kPinned ? site.resident_hole_bytes : site.slack_bytes;
}

void rank_by_heap(SiteTable& table, const HeapOfSites& heap, HeapValue value) {
  std::ranges::stable_sort(table.rows, std::greater(), [&heap, value](const SiteRow& row) {
    return value_of(heap.by_site[row.site], value);
  });
}

std::string sites_text(const SiteAnswer& answer, SiteOrder order, size_t top, size_t width) {
  const SiteTable& table = answer.table;
  const HeapOfSites* const heap = answer.heap;
  const Table layout(answer, order);
  std::vector<TableRow> rows{layout.heading()};
  StackTotals others = table.left_out;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const SiteRow& row = table.rows[i];
    if (i >= top) {
      others += row.totals;
      continue;
    }
    rows.push_back(layout.row_of({answer.sites.short_text(row.site), row.totals, lifetime_text(row),
                                  heap == nullptr ? nullptr : &heap->by_site[row.site]}));
  }
  if (others.calls != 0 || others.mapped_bytes != 0)
    rows.push_back(layout.row_of({"(others)", others}));
  rows.push_back(
      layout.row_of({"total", table.total, "", heap == nullptr ? nullptr : &heap->total}));
  if (table.sampled) {
    rows.push_back(layout.row_of({"whole tape", table.sampled->whole_tape, "", nullptr, false}));
  }
  std::string text = aligned_within(width, rows, layout.least_first());
  if (table.sampled) text += sampling_text(*table.sampled);
  if (table.rows.size() > top) {
    text += "... and " + base::counted(table.rows.size() - top, "site") +
            " more: --top N shows more, --json and --csv list all\n";
  }
  return heap == nullptr ? text : text + heap_text(*heap);
}

std::string sites_csv(const SiteAnswer& answer) {
  std::string text =
      "site,function,file,line,module,offset,calls,askedBytes,peakBytes,peakCount,liveBytes,"
      "liveCount,temporaries,freedByOthers,blocks,medianLifetime,movedBytes,mappedBytes,slackBytes,"
      "holeBytes,residentHoleBytes,callsError,askedBytesError,peakBytesError,liveBytesError\n";
  for (const SiteRow& row : answer.table.rows) {
    const StackTotals& totals = row.totals;
    text += place_fields(answer.sites, row.site);
    for (const uint64_t number :
         {totals.calls, totals.asked_bytes, totals.peak_bytes, totals.peak_count, totals.live_bytes,
          totals.live_count, totals.temporaries, totals.freed_by_others, row.blocks}) {
      text += "," + std::to_string(number);
    }
    text += "," + (row.median_lifetime ? std::to_string(*row.median_lifetime) : "") + "," +
            std::to_string(totals.moved_bytes) + "," + std::to_string(totals.mapped_bytes) +
            heap_fields(answer.heap, row.site);
    for (const StackValue value :
         {StackValue::kCalls, StackValue::kBytes, StackValue::kPeak, StackValue::kEnd}) {
      text += "," + std::to_string(standard_error(totals, value));
    }
    text += "\n";
  }
  return text;
}

std::string top_sites_text(const SiteTable& table, const Sites& sites) {
  std::vector<TableRow> rows;
  for (const Value& value : kValues) add_rows(rows, value, table, sites);
  if (rows.empty()) return "";
  const char* const estimated =
      "call sites are estimates: not all calls had their stacks recorded\n";
  return aligned(rows) + (table.sampled ? estimated : "");
}

}  // namespace heaptape::replayer
