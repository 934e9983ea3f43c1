// Generators of tapes: heaps whose story is known, made without running the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/parameters.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::scenarios {

using base::Parameter;
using base::Result;
using base::Values;

// A scenario streams its events: it keeps live blocks in memory and nothing else. The same values
// give the same tape.
struct Scenario {
  const char* name;
  const char* description;  // one line
  std::vector<Parameter> parameters;
  void (*generate)(const Values& values, schema::TapeWriter& tape);
};

// The list, explicit.
const std::vector<Scenario>& scenarios();

struct ScenarioOptions {
  std::string name;
  std::vector<std::string> sets = {};  // "parameter=value"
  std::string output = {};             // path of the tape
};

// Writes the tape. Fails with kUsage for what is no scenario or no parameter of it, and otherwise
// as TapeWriter does.
Result<schema::TapeSummary> write_scenario(const ScenarioOptions& options);

}  // namespace heaptape::scenarios
