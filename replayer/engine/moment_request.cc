#include "replayer/engine/moment_request.h"

#include "base/display_text.h"
#include "base/near_names.h"
#include "base/quantity.h"
#include "replayer/answers/moment.h"

namespace heaptape::replayer {
namespace {

using base::Error;
using base::Result;

}  // namespace

Result<MomentRequest> parse_moment(std::string_view text) {
  for (const char* const name : {"peak", "plateau", "exit", "end"}) {
    if (text == name) return MomentRequest{.kind = MomentRequest::Kind::kFound, .name = name};
  }
  const std::string name(text);
  if (const auto time_ns = base::parse_time(text)) {
    return MomentRequest{.kind = MomentRequest::Kind::kTime, .name = name, .time_ns = *time_ns};
  }
  if (text.starts_with(kMarkPrefix) && text.size() > kMarkPrefix.size()) {
    return MomentRequest{.kind = MomentRequest::Kind::kMark, .name = base::display_text(name)};
  }
  std::string_view number = text;
  if (number.starts_with('#')) number.remove_prefix(1);
  std::string digits(number);
  std::erase(digits, ',');
  if (const auto event = base::parse_count(digits)) {
    return MomentRequest{
        .kind = MomentRequest::Kind::kEvent, .name = "#" + std::to_string(*event), .event = *event};
  }
  return Error::usage(
      "there is no moment '" + name + "'" +
      base::did_you_mean(name, {"peak", "plateau", "exit", "end"}) +
      ": type peak, plateau, exit, end, mark:NAME, a call such as #1000 or 1.5M, or a time "
      "such as 12.5s");
}

}  // namespace heaptape::replayer
