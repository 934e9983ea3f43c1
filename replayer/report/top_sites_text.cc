#include "replayer/report/top_sites_text.h"

#include <algorithm>
#include <functional>

#include "base/number_text.h"
#include "replayer/text/metric_text.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kShown = 3;  // for each value

struct Value {
  const char* heading;
  uint64_t StackTotals::* of;
  bool is_bytes;
};
constexpr Value kValues[] = {
    {"holding most at the peak", &StackTotals::peak_bytes, true},
    {"alive at the end", &StackTotals::live_bytes, true},
    {"temporaries", &StackTotals::temporaries, false},
    {"freed by another thread", &StackTotals::freed_by_others, false},
    {"copied by resizes", &StackTotals::moved_bytes, true},
};

void add_rows(std::vector<TableRow>& rows, const Value& value, const SiteTable& table,
              const Sites& sites) {
  std::vector<SiteRow> ranked = table.rows;
  const auto amount = [&value](const SiteRow& row) { return row.totals.*value.of; };
  std::erase_if(ranked, [&amount](const SiteRow& row) { return amount(row) == 0; });
  std::ranges::stable_sort(ranked, std::greater(), amount);
  if (ranked.empty()) return;
  rows.push_back({value.heading, value.is_bytes ? "bytes" : "blocks", "share"});
  for (size_t i = 0; i < std::min(kShown, ranked.size()); ++i) {
    const uint64_t part = amount(ranked[i]);
    rows.push_back({"  " + sites.short_text(ranked[i].site),
                    value.is_bytes ? base::bytes_text(part) : base::grouped(part),
                    share_text(part, table.total.*value.of)});
  }
}

}  // namespace

std::string top_sites_text(const SiteTable& table, const Sites& sites) {
  std::vector<TableRow> rows;
  for (const Value& value : kValues) add_rows(rows, value, table, sites);
  if (rows.empty()) return "";
  const char* const estimated =
      "call sites are estimates: not all calls had their stacks recorded\n";
  return aligned(rows) + (table.sampled ? estimated : "");
}

}  // namespace heaptape::replayer
