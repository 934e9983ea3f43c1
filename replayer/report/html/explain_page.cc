#include "replayer/report/html/explain_page.h"

#include <vector>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/version.h"
#include "replayer/answers/holes.h"
#include "replayer/answers/pins.h"
#include "replayer/report/explain_output.h"
#include "replayer/report/heap_sites.h"
#include "replayer/report/html/json_writer.h"
#include "replayer/report/html/page.h"
#include "replayer/report/html/page_data.h"
#include "replayer/report/html/static_text.h"
#include "replayer/report/html/where_text.h"
#include "replayer/report/pin_callers.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using base::bytes_text;
using base::grouped;

// "at the plateau", "after #1,000".
std::string when(const Moment& moment) {
  if (moment.name.starts_with(kMarkPrefix)) {
    return "at the mark " + base::display_text(moment.name.substr(kMarkPrefix.size()));
  }
  const bool is_found = !moment.name.empty() && moment.name[0] != '#';
  return is_found ? "at the " + moment.name : "after #" + grouped(moment.event);
}

// Where most of it is.
std::string verdict(const Explanation& explanation) {
  Account account = *explanation.state().account;
  const Snapshot& now = explanation.state().snapshot;
  account.live_bytes = now.live.live_bytes;  // the program's: see explain_text.cc
  account.slack_bytes = now.slack_bytes();
  const allocators::BackendSpec& spec = explanation.run.spec;
  return parts_text(account, heap_words(spec.label, spec.text) + " " + when(explanation.moment));
}

}  // namespace

std::string pins_sentence(const HeapPicture& picture, const Account& account,
                          const CallSites* calls) {
  const std::vector<Hole> holes = find_holes(picture);
  const std::vector<PinGroup> groups = rank_pins(picture, holes, 1);
  if (groups.empty() || groups[0].resident_hole_bytes == 0) return "";
  const PinGroup& group = groups[0];
  uint64_t all = 0;
  for (const Hole& hole : holes) all += hole.resident_bytes;
  std::string text = share_text(group.resident_hole_bytes, all) + " of the " + bytes_text(all) +
                     (picture.absent ? " resident in holes" : " in holes") +
                     (account.cached_bytes == 0 ? "" : ", cached blocks included,") +
                     " are beside " + base::counted(group.count, "block") + " of " +
                     grouped(group.size_bytes) + " bytes, born from #" +
                     grouped(group.first_birth) + " to #" + grouped(group.last_birth);
  if (calls == nullptr) return text + ".";
  const std::vector<PinCallers> callers = pin_callers(picture, groups, *calls);
  const PinCallers& who = callers.front();
  if (!who.is_sampled && who.most.blocks == 0) return text + ".";
  if (!who.is_sampled) return text + ", most for " + calls->sites().short_text(who.most.site) + ".";
  text += ", " + most_text(who, group, calls->sites());
  const std::string like = like_text(who, group, calls->sites());
  return text + (like.empty() ? "." : "; " + like + ".");
}

base::Result<std::string> explain_page(const schema::TapeReader& tape,
                                       const Explanation& explanation, const HolesOptions& options,
                                       const CallSites* sites) {
  HolesOptions shown = options;
  shown.most_sites = options.top;
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string json,
                            explanation_json(tape, explanation, shown, sites));
  JsonWriter out;
  out.open_object();
  out.field("kind", "explain");
  out.field("heaptape", base::kVersion);
  out.name("tape");
  write_tape(out, tape);
  out.field("verdict", verdict(explanation));
  out.field("where", pins_sentence(*explanation.run.picture, *explanation.state().account, sites));
  out.field("label", explanation.run.spec.label);
  out.field("backend", explanation.run.spec.text);
  out.field("when", when(explanation.moment));
  out.field("isEstimated", sites != nullptr && sites->is_sampled());
  out.name("explanation");
  out.json(json);
  out.close_object();
  const std::string content = html_element("h1", tape.path()) +
                              html_element("p class=\"verdict\"", verdict(explanation)) +
                              html_terminal(explanation_text(tape, explanation, options, sites));
  return html_page("heaptape explain: " + tape.path(), out.text(), content);
}

}  // namespace heaptape::replayer
