#include <algorithm>
#include <ostream>

#include "base/number_text.h"
#include "cli/commands.h"

namespace heaptape::cli {

using scenarios::Scenario;

int run_scenario_list(ScenarioDetail detail, Console& console) {
  size_t width = 0;
  for (const Scenario& scenario : scenarios::scenarios()) {
    width = std::max(width, std::string_view(scenario.name).size());
  }
  for (const Scenario& scenario : scenarios::scenarios()) {
    std::string name = scenario.name;
    name.resize(width, ' ');
    console.out() << name << "  " << scenario.description << "\n";
    if (detail == ScenarioDetail::kNames) continue;
    console.out() << base::parameter_lines(scenario.parameters, "    ");
  }
  return console.finish();
}

int run_scenario(const scenarios::ScenarioOptions& options, Console& console) {
  tell_file_size_limit();
  const auto summary = scenarios::write_scenario(options);
  if (!summary.ok()) return console.fail(summary.error());
  console.out() << options.output << ": " << base::counted(summary->events, "event") << "\n";
  return console.finish();
}

}  // namespace heaptape::cli
