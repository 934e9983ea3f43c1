#include "tests/support/jemalloc.h"

#include <sstream>

#include "tests/support/programs.h"

namespace heaptape::tests {
namespace {

JemallocFacts read_facts() {
  const Ended ended = run({.words = {target_path("replay_jemalloc_facts")},
                           .environment = {"LD_PRELOAD=libjemalloc.so.2"}});
  std::istringstream lines(ended.out);
  std::string version;
  if (!std::getline(lines, version)) {
    return {"libjemalloc.so.2 is not there (Debian: apt-get install libjemalloc2): " + ended.err,
            {}};
  }
  if (!version.starts_with("5.3.0-")) return {"this is jemalloc " + version + ", not 5.3.0", {}};
  JemallocFacts facts;
  for (JemallocFacts::Size size{}; lines >> size.bytes >> size.usable;) {
    facts.sizes.push_back(size);
  }
  return facts;
}

}  // namespace

const JemallocFacts& jemalloc_facts() {
  static const JemallocFacts facts = read_facts();
  return facts;
}

}  // namespace heaptape::tests
