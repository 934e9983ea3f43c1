#include "replayer/report/html/where_text.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/number_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::RunFigures;

// "at the peak" for "atPeak".
std::string when(const std::string& state) {
  const std::string group = heading_of(state + ".").group;  // "at peak"
  return group.starts_with("at ") ? "at the " + group.substr(3) : group;
}

uint64_t number(const RunFigures& run, const std::string& metric) {
  const auto value = run.metric(metric);
  return value && schema::is_integer(*value) ? std::get<uint64_t>(*value) : 0;
}

}  // namespace

std::string heap_words(const std::string& label, const std::string& backend) {
  if (label == schema::kRecordedBackend) return "in the recorded heap";
  return (backend == schema::kRecordedBackend ? "in the heap of " : "resident on ") + label;
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

}  // namespace heaptape::replayer
