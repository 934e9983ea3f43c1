// Tape generators: heaps whose story is known, written without running the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/parameters.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::scenarios {

using base::choice;
using base::on_off;
using base::Parameter;
using base::Result;
using base::Switch;
using base::Values;

// A scenario streams its events: its memory grows only with live blocks. The same values give the
// same tape.
struct Scenario {
  const char* name;
  const char* description;  // one line
  std::vector<Parameter> parameters;
  void (*generate)(const Values& values, schema::TapeWriter& tape);
};

// All of them, in the order of `heaptape scenario list`.
const std::vector<Scenario>& scenarios();

struct ScenarioOptions {
  std::string name;
  std::vector<std::string> sets = {};  // "parameter=value"
  std::string output = {};             // path of the tape
};

// Writes the tape. Fails with kUsage if there is no such scenario or parameter, or the value is out
// of range; otherwise as TapeWriter does.
Result<schema::TapeSummary> write_scenario(const ScenarioOptions& options);

}  // namespace heaptape::scenarios
