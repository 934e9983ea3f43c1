#include "replayer/diff/owner_figures.h"

#include <map>
#include <set>
#include <string>

namespace heaptape::replayer {
namespace {

using schema::RunFigures;
using NamesByState = std::map<std::string, std::set<std::string>, std::less<>>;

void add_names(const RunFigures& run, NamesByState& names) {
  for (const schema::Metric& metric : run.metrics) {
    const std::string_view prefix = schema::owners_prefix(metric.name);
    if (!prefix.empty()) names[std::string(prefix)].insert(metric.name);
  }
}

void add_zeros(const NamesByState& all, RunFigures& run) {
  NamesByState known;
  add_names(run, known);
  for (const auto& [prefix, its_names] : known) {
    for (const std::string& name : all.find(prefix)->second) {
      if (!its_names.contains(name)) run.metrics.push_back({name, uint64_t{0}});
    }
  }
}

}  // namespace

void add_absent_owners(std::vector<NamedReport>& bases, NamedReport& now) {
  std::vector<NamedReport*> reports = {&now};
  for (NamedReport& base : bases) reports.push_back(&base);
  NamesByState all;
  for (const NamedReport* const report : reports) {
    for (const RunFigures& run : report->figures.runs) add_names(run, all);
  }
  for (NamedReport* const report : reports) {
    for (RunFigures& run : report->figures.runs) add_zeros(all, run);
  }
}

}  // namespace heaptape::replayer
