#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/console.h"

namespace heaptape::cli {

using scenarios::Scenario;

int run_scenario_list(bool verbose, std::ostream& out, std::ostream& err) {
  size_t width = 0;
  for (const Scenario& scenario : scenarios::scenarios()) {
    width = std::max(width, std::string_view(scenario.name).size());
  }
  for (const Scenario& scenario : scenarios::scenarios()) {
    std::string name = scenario.name;
    name.resize(width, ' ');
    out << name << "  " << scenario.description << "\n";
    if (verbose) out << base::parameter_lines(scenario.parameters, "    ");
  }
  return finish(out, err, kExitDone);
}

int run_scenario(const scenarios::ScenarioOptions& options, std::ostream& out, std::ostream& err) {
  const auto summary = scenarios::write_scenario(options);
  if (!summary.ok()) return complain(err, summary.error());
  out << options.output << ": " << summary->events << " events\n";
  return finish(out, err, kExitDone);
}

}  // namespace heaptape::cli
