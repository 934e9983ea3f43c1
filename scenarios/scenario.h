// Generators of tapes: heaps whose story is known, made without running the program.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "schema/parameters.h"
#include "schema/tape_writer.h"

namespace heaptape::scenarios {

using schema::Parameter;
using schema::Values;

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
  std::string name;                    // or "list"
  bool verbose = false;                // of a list: with parameters
  std::vector<std::string> sets = {};  // "parameter=value"
  std::string output = {};
};

// `heaptape scenario`. Returns the exit code; results go to `out`, errors as one sentence to `err`.
int run_scenario(const ScenarioOptions& options, std::ostream& out, std::ostream& err);

}  // namespace heaptape::scenarios
