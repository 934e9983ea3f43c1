#include "replayer/report/html/verdict.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/number_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::MetricUnit;
using schema::RunFigures;

// "at the peak" for "atPeak".
std::string when(const std::string& state) {
  const std::string group = heading_of(state + ".").group;  // "at peak"
  return group.starts_with("at ") ? "at the " + group.substr(3) : group;
}

std::string bytes(const RunFigures& run, const std::string& metric) {
  return value_text(run.metric(metric), MetricUnit::kBytes);
}

uint64_t number(const RunFigures& run, const std::string& metric) {
  const auto value = run.metric(metric);
  return value && schema::is_integer(*value) ? std::get<uint64_t>(*value) : 0;
}

std::string text_of(const BestRun& best) {
  const std::string text = when(best.state) + " (" + best.resident;
  if (best.next_label.empty()) return text + " each)";
  return text + "; next is " + best.next_label + " with " + best.next_resident + ")";
}

}  // namespace

std::string heap_words(const std::string& label, const std::string& backend) {
  return (backend == schema::kRecordedBackend ? "in the heap of " : "resident on ") + label;
}

std::string verdict(const std::vector<BestRun>& best, const RunFigures* told) {
  if (!best.empty()) {
    const char* const hold = best[0].labels.size() == 1 ? " holds" : " hold";
    std::string text = best[0].names() + hold + " the least resident memory " + text_of(best[0]);
    if (best.size() < 2) return text + ".";
    const bool is_same = best[0].labels == best[1].labels;
    return text + (is_same ? ", and " : "; " + best[1].names() + " ") + text_of(best[1]) + ".";
  }
  if (told == nullptr) return "No run with memory of its own reached the end of the tape.";
  return told->label + " holds " + bytes(*told, "peak.committedBytes") +
         " committed at its peak, while the program had at most " + bytes(*told, "peak.liveBytes") +
         " live.";
}

std::string parts_text(const Account& account, const std::string& where) {
  const uint64_t untouched_live = std::min(account.untouched_bytes, account.live_bytes);
  const uint64_t untouched_slack =
      std::min(account.untouched_bytes - untouched_live, account.slack_bytes);
  std::pair<uint64_t, const char*> named[] = {
      {account.live_bytes - untouched_live, "live"},
      {account.slack_bytes - untouched_slack, "slack within blocks"},
      {account.metadata_bytes, "the allocator's own"},
      {account.cached_bytes, "cached for reuse"},
      {account.hole_bytes, "holes between blocks"},
      {account.top_bytes, "free at the ends of regions"},
      {account.late ? account.late->unseen_bytes : 0, "unseen memory from before"}};
  uint64_t whole = 0;
  for (const auto& [bytes, words] : named) whole += bytes;
  std::ranges::stable_sort(named, std::greater<>(), &std::pair<uint64_t, const char*>::first);
  std::string text;
  for (const auto& [bytes, words] : named) {
    constexpr uint64_t kLeastPart = 100;  // smaller parts are only in the bar
    if (bytes == 0 || bytes < whole / kLeastPart) continue;
    text += (text.empty() ? ": " : ", ") + share_text(bytes, whole) + " " + words;
  }
  if (account.returned_bytes != 0) {
    text +=
        "; another " + base::bytes_text(account.returned_bytes) + " were returned to the system";
  }
  return "The " + base::bytes_text(whole) + " " + where + text + ".";
}

std::string where_it_is(const RunFigures* told, const std::string& state) {
  if (told == nullptr || !told->metric(state + ".account.holeBytes")) return "";
  const auto part = [&](const char* metric) { return number(*told, state + "." + metric); };
  const Account account{.live_bytes = part("liveBytes"),
                        .slack_bytes = part("slackBytes"),
                        .metadata_bytes = part("account.metadataBytes"),
                        .cached_bytes = part("account.cachedBytes"),
                        .hole_bytes = part("account.holeBytes"),
                        .top_bytes = part("account.topBytes"),
                        .returned_bytes = part("account.returnedBytes"),
                        .untouched_bytes = part("account.untouchedBytes"),
                        .late = LateStart{part("account.late.unseenBytes")}};
  return parts_text(account, heap_words(told->label, told->backend) + " " + when(state));
}

std::string who_has_it(const SiteTable& table, const Sites& sites) {
  const SiteRow* most = nullptr;
  for (const SiteRow& row : table.rows) {
    const bool is_known = sites.list()[row.site].place != nullptr && row.totals.peak_bytes != 0;
    if (!is_known) continue;
    if (most == nullptr || row.totals.peak_bytes > most->totals.peak_bytes) most = &row;
  }
  if (most == nullptr) return "";
  const uint64_t live =
      table.sampled ? table.sampled->whole_tape.peak_bytes : table.total.peak_bytes;
  return (table.sampled ? "An estimated " : "") +
         share_text(most->totals.peak_bytes, table.total.peak_bytes) + " of the " +
         base::bytes_text(live) + " live at the peak were requested by " +
         sites.short_text(most->site) + ".";
}

}  // namespace heaptape::replayer
