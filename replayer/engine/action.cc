#include "replayer/engine/action.h"

#include "base/number_text.h"
#include "base/quantity.h"

namespace heaptape::replayer {

base::Result<Action> parse_action(std::string_view text) {
  const size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  const std::string_view place = at == text.npos ? "" : text.substr(at + 1);
  if (name == "trim" || name == "purge") {
    if (place == "end") return Action{std::string(name), Action::kEnd};
    if (const auto event = base::parse_count(place.substr(place.starts_with('#') ? 1 : 0)))
      return Action{std::string(name), *event};
  }
  return base::Error::usage(
      "cannot do '" + std::string(text) +
      "': type trim@N or purge@N, where N is a number of calls, such as 10k or 1.5M, or peak, "
      "plateau, exit, end, mark:NAME, or a time such as 12.5s");
}

std::optional<MomentRequest> moment_of_action(std::string_view text) {
  const size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  if (at == text.npos || (name != "trim" && name != "purge")) return std::nullopt;
  const auto request = parse_moment(text.substr(at + 1));
  if (!request.ok() || request->kind == MomentRequest::Kind::kEvent || request->name == "end") {
    return std::nullopt;
  }
  return *request;
}

base::Status check_actions(const std::vector<Action>& actions, uint64_t events, uint64_t before) {
  for (const Action& action : actions) {
    if (action.event < before) {
      return base::Error::usage("'" + action.name + "@" + std::to_string(action.event) +
                                "' comes before the range, which begins after " +
                                base::counted(before, "call") + " (--from)");
    }
    if (action.event == Action::kEnd || action.event <= events) continue;
    return base::Error::usage("'" + action.name + "@" + std::to_string(action.event) +
                              "' comes after the end: the replay has " + base::grouped(events) +
                              " calls; for its end type " + action.name + "@end");
  }
  return {};
}

}  // namespace heaptape::replayer
