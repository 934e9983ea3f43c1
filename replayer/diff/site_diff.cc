#include "replayer/diff/site_diff.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/number_text.h"
#include "replayer/sites/frame_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::CallSite;
using schema::SiteBytes;
using schema::SiteFigures;

struct Measure {
  std::string_view name;
  std::string_view words;
  std::string_view verb;
  std::string_view where;
  uint64_t SiteBytes::* value;
};
constexpr Measure kMeasures[] = {
    {"peakBytes", "bytes at the peak", "has", "at the peak", &SiteBytes::peak},
    {"liveBytes", "bytes at the end", "has", "at the end", &SiteBytes::end},
    {"askedBytes", "bytes requested", "requested", "in all", &SiteBytes::asked}};

// Functions whose file a report does not know.
using Functions = std::set<std::string>;
void add_without_file(const SiteFigures& sites, Functions& functions) {
  for (const CallSite& site : sites.list) {
    if (!site.function.empty() && site.file.empty()) functions.insert(site.function);
  }
}

// Identifies a site across builds. Ignores directories and lines, because builds and lines move,
// and files if a build has no debug information.
using Key = std::pair<std::string, std::string>;
Key key_of(const CallSite& site, const Functions& without_file) {
  if (without_file.contains(site.function)) return {site.function, ""};
  if (!site.function.empty()) return {site.function, last_part(site.file)};
  if (!site.module.empty()) return {"", last_part(site.module)};
  return {"", site.text};  // the stack is not known or was cut
}

// The sites of one key in both reports, by line.
struct Group {
  std::vector<const CallSite*> base;
  std::vector<const CallSite*> now;
};
using Groups = std::map<Key, Group>;

Groups grouped_sites(const SiteFigures& base, const SiteFigures& now) {
  Functions without_file;
  add_without_file(base, without_file);
  add_without_file(now, without_file);
  Groups groups;
  for (const CallSite& site : base.list) groups[key_of(site, without_file)].base.push_back(&site);
  for (const CallSite& site : now.list) groups[key_of(site, without_file)].now.push_back(&site);
  for (auto& [key, group] : groups) {
    std::ranges::stable_sort(group.base, {}, &CallSite::line);
    std::ranges::stable_sort(group.now, {}, &CallSite::line);
  }
  return groups;
}

uint64_t sum(const std::vector<const CallSite*>& sites, uint64_t SiteBytes::* value) {
  uint64_t total = 0;
  for (const CallSite* site : sites) total += site->bytes.*value;
  return total;
}

// The standard error of that sum. Its parts are independent.
uint64_t error_of_sum(const std::vector<const CallSite*>& sites, uint64_t SiteBytes::* value) {
  double variance = 0;
  for (const CallSite* site : sites) {
    const auto error = static_cast<double>(site->errors.*value);
    variance += error * error;
  }
  return static_cast<uint64_t>(std::llround(std::min(std::sqrt(variance), 1e18)));
}

// The base's value at the i-th line of a function. If both sides have equally many lines, they are
// taken to be the same, perhaps moved.
uint64_t base_at(const Group& group, size_t i, uint64_t SiteBytes::* value) {
  if (group.base.size() == group.now.size()) return group.base[i]->bytes.*value;
  uint64_t total = 0;
  for (const CallSite* site : group.base) {
    if (site->line == group.now[i]->line) total += site->bytes.*value;
  }
  return total;
}

// From `base` to `now`; negative against `sign`.
long double change(uint64_t base, uint64_t now, int sign = 1) {
  return sign * (static_cast<long double>(now) - static_cast<long double>(base));
}

// The line of the group that changed most in the direction of the whole.
const CallSite& chosen(const Group& group, uint64_t SiteBytes::* value, int sign) {
  if (group.now.empty()) {
    return **std::ranges::max_element(group.base, {},
                                      [value](const CallSite* site) { return site->bytes.*value; });
  }
  std::vector<long double> changes;
  for (size_t i = 0; i < group.now.size(); ++i) {
    changes.push_back(change(base_at(group, i, value), group.now[i]->bytes.*value, sign));
  }
  return *group.now[static_cast<size_t>(std::ranges::max_element(changes) - changes.begin())];
}

// If several sites have no function, the change belongs to no single line.
CallSite place_of(const Group& group, uint64_t SiteBytes::* value, int sign) {
  CallSite place = chosen(group, value, sign);
  const bool is_one = std::max(group.base.size(), group.now.size()) == 1;
  if (place.function.empty() && !place.module.empty() && !is_one) {
    place.text = last_part(place.module) + " (functions unknown)";
  }
  return place;
}

SiteChanges changes_of(const Groups& groups, const Measure& measure, const SiteFigures& base,
                       const SiteFigures& now) {
  SiteChanges changes{.name = std::string(measure.name),
                      .words = std::string(measure.words),
                      .verb = std::string(measure.verb),
                      .where = std::string(measure.where),
                      .base = base.total.*measure.value,
                      .now = now.total.*measure.value,
                      .sites = {},
                      .base_error = base.total_errors.*measure.value,
                      .now_error = now.total_errors.*measure.value};
  const int sign = changes.now > changes.base ? 1 : -1;
  for (const auto& [key, group] : groups) {
    const uint64_t before = sum(group.base, measure.value);
    const uint64_t after = sum(group.now, measure.value);
    if (before == after) continue;
    changes.sites.push_back({place_of(group, measure.value, sign), before, after,
                             error_of_sum(group.base, measure.value),
                             error_of_sum(group.now, measure.value)});
  }
  std::ranges::stable_sort(changes.sites, std::greater(), [sign](const SiteChange& site) {
    return change(site.base, site.now, sign);
  });
  return changes;
}

// The tree's values in the column `index`, by the innermost functions of its stacks.
SiteFigures innermost(const schema::StackTree& tree, size_t index) {
  std::vector<uint64_t> own(tree.nodes.size());
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    own[i] += tree.nodes[i].values[index];
    if (i != 0) own[tree.nodes[i].parent] -= tree.nodes[i].values[index];
  }
  std::vector<uint64_t> bytes(tree.frames.size());
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const uint32_t frame = tree.nodes[i].frame;
    if (frame < bytes.size()) bytes[frame] += own[i];
  }
  SiteFigures figures;
  if (!tree.nodes.empty()) figures.total.peak = tree.nodes.front().values[index];
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0) continue;
    const schema::StackTree::Frame& frame = tree.frames[i];
    // As in frame_name().
    const bool is_known = !frame.name.starts_with(frame.module + "+0x");
    figures.list.push_back({.text = frame.name,
                            .function = is_known ? frame.name : "",
                            .file = frame.file,
                            .line = frame.line,
                            .module = frame.module,
                            .bytes = {.peak = bytes[i]}});
  }
  return figures;
}

std::optional<size_t> pinned_column(const schema::StackTree& tree, const std::string& label,
                                    const std::string& moment) {
  const auto found = std::ranges::find_if(tree.pinned, [&](const schema::PinnedName& pinned) {
    return pinned.label == label &&
           std::ranges::find(pinned.moments, moment) != pinned.moments.end();
  });
  if (found == tree.pinned.end()) return std::nullopt;
  return schema::kStackValueNames.size() + static_cast<size_t>(found - tree.pinned.begin());
}

}  // namespace

uint64_t SiteChange::error() const {
  const double both = std::hypot(static_cast<double>(base_error), static_cast<double>(now_error));
  return static_cast<uint64_t>(std::llround(std::min(both, 1e18)));
}

double SiteChange::share(uint64_t base_total, uint64_t now_total) const {
  return static_cast<double>(change(base, now) / change(base_total, now_total));
}

std::vector<SiteChanges> diff_sites(const SiteFigures& base, const SiteFigures& now) {
  const Groups groups = grouped_sites(base, now);
  std::vector<SiteChanges> all;
  for (const Measure& measure : kMeasures) {
    if (base.total.*measure.value == now.total.*measure.value) continue;
    all.push_back(changes_of(groups, measure, base, now));
  }
  return all;
}

std::optional<SiteChanges> diff_pinning_sites(const schema::StackTree& base,
                                              const std::string& base_label,
                                              const schema::StackTree& now,
                                              const std::string& label, const std::string& state) {
  const std::string moment = moment_of_state(state);
  const auto before = pinned_column(base, base_label, moment);
  const auto after = pinned_column(now, label, moment);
  if (!before || !after) return std::nullopt;
  const SiteFigures base_sites = innermost(base, *before);
  const SiteFigures now_sites = innermost(now, *after);
  if (!module_known_once(base_sites, now_sites).empty()) return std::nullopt;
  const std::string where = "at the " + moment;
  const std::string words = "resident bytes in holes of " + label + " " + where;
  const Measure measure{"pinnedBytes", words, "pins", where, &SiteBytes::peak};
  return changes_of(grouped_sites(base_sites, now_sites), measure, base_sites, now_sites);
}

std::string module_known_once(const SiteFigures& base, const SiteFigures& now) {
  // Bits 1 and 2: the reports in which it has sites with and without functions.
  struct Module {
    unsigned with = 0;
    unsigned without = 0;
  };
  std::map<std::string, Module> modules;
  for (const unsigned report : {1u, 2u}) {
    for (const CallSite& site : (report == 1 ? base : now).list) {
      if (site.module.empty()) continue;
      Module& module = modules[last_part(site.module)];
      (site.function.empty() ? module.without : module.with) |= report;
    }
  }
  for (const auto& [name, module] : modules) {
    if (module.with + module.without == 3 && module.with != 0 && module.without != 0) return name;
  }
  return "";
}

std::string short_text(const CallSite& place) {
  if (place.function.empty()) return place.text;
  const SourceFrame source{place.function, place.file, place.line};
  return short_frame_text({}, &source);
}

std::string culprit_text(const SiteChanges& changes) {
  if (changes.sites.empty()) return "";
  const SiteChange& first = changes.sites.front();
  if (first.share(changes.base, changes.now) <= 0) return "";
  const uint64_t change = std::max(first.base, first.now) - std::min(first.base, first.now);
  constexpr uint64_t kSure = 2;  // standard errors
  if (change < kSure * first.error()) return "";
  const auto more = [](uint64_t base, uint64_t now, uint64_t error) {
    const uint64_t bytes = std::max(base, now) - std::min(base, now);
    return base::estimated_bytes_text(bytes, error) + (now < base ? " less" : " more");
  };
  std::string text = short_text(first.place) + " " + changes.verb + " " +
                     more(first.base, first.now, first.error()) + " " + changes.where;
  const uint64_t base_rest = changes.base - std::min(changes.base, first.base);
  const uint64_t now_rest = changes.now - std::min(changes.now, first.now);
  if (base_rest == now_rest) return text;
  return text + ", all other sites " + more(base_rest, now_rest, 0);
}

}  // namespace heaptape::replayer
