// Generators of tapes: heaps whose story is known, made without running the program.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "schema/result.h"
#include "schema/tape_writer.h"

namespace heaptape::scenarios {

struct Parameter {
  const char* name;
  uint64_t value;  // the default
  const char* description;
};

// Values of a scenario's parameters, all of them, in its order.
class Values {
 public:
  explicit Values(std::vector<std::pair<std::string, uint64_t>> values)
      : values_(std::move(values)) {}
  // `name` must be one of the scenario's parameters.
  uint64_t operator[](const std::string& name) const;

 private:
  std::vector<std::pair<std::string, uint64_t>> values_;
};

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
  std::string name;               // or "list"
  std::vector<std::string> sets;  // "parameter=value"
  std::string output;
};

// `heaptape scenario`. Returns the exit code; results go to `out`, errors as one sentence to `err`.
int run_scenario(const ScenarioOptions& options, std::ostream& out, std::ostream& err);

}  // namespace heaptape::scenarios
