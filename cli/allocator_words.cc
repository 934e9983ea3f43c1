#include "cli/allocator_words.h"

#include <set>
#include <utility>

#include "allocators/catalog/spec_advice.h"
#include "base/display_text.h"
#include "base/number_text.h"
#include "schema/report/report_metrics.h"

namespace heaptape::cli {
namespace {

using allocators::BackendSpec;
using base::Error;
using base::Result;

// Parses one allocator of the command line, or says what is wrong; the shell may have split it.
Result<BackendSpec> parse_word(const std::vector<std::string>& texts, size_t at) {
  Result<BackendSpec> spec = allocators::parse_spec(texts[at]);
  if (spec.ok() || at == 0) return spec;
  const auto joined = allocators::joined_spec(texts[at - 1], texts[at]);
  if (!joined) return spec;
  return Error::usage(base::quoted(texts[at]) + " is not an allocator but a setting for " +
                      base::quoted(texts[at - 1]) + ": write both as one argument, in quotes: -a " +
                      base::quoted(*joined));
}

}  // namespace

Result<std::vector<BackendSpec>> parse_specs(const std::vector<std::string>& texts) {
  if (texts.size() > schema::kMaxRuns) {
    return Error::usage("a replay takes at most " + base::grouped(schema::kMaxRuns) +
                        " allocators; you gave " + base::grouped(texts.size()));
  }
  std::vector<BackendSpec> specs;
  std::set<std::string> labels;
  for (size_t i = 0; i < texts.size(); ++i) {
    HEAPTAPE_ASSIGN_OR_RETURN(auto spec, parse_word(texts, i));
    if (!labels.insert(spec.label).second) {
      return Error::usage("two allocators are named '" + spec.label +
                          "'; give one a different label: -a 'mine=" + spec.text + " ...'");
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

base::Status try_start(const BackendSpec& spec) {
  const schema::TapeHeader no_tape;
  const auto started = spec.make({&no_tape, allocators::Touch::kNone})->start();
  return started.ok() ? base::Status() : started.error();
}

const std::vector<std::string>& default_allocators() {
  static const std::vector<std::string> names = {"recorded", "glibc", "jemalloc", "mimalloc",
                                                 "tcmalloc"};
  return names;
}

std::vector<BackendSpec> usable_specs(const std::vector<std::string>& names, Console& console) {
  std::vector<BackendSpec> specs;
  for (const std::string& name : names) {
    auto spec = allocators::parse_spec(name);
    const base::Status status = spec.ok() ? try_start(*spec) : spec.error();
    if (status.ok()) {
      specs.push_back(std::move(*spec));
    } else {
      console.print_note("replaying without " + base::quoted(name) + ": " + status.error().message);
    }
  }
  return specs;
}

}  // namespace heaptape::cli
