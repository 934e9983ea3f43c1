#include "tests/support/jemalloc.h"

#include <sstream>

#include "tests/support/programs.h"

namespace heaptape::tests {
namespace {

// In the index of extents, if addresses have 48 bits; with 57 bits a table has 512 KiB.
constexpr uint64_t kTableBytes = uint64_t{2} << 20;

JemallocFacts read_facts() {
  const Ended ended = run({.words = {target_path("replay_jemalloc_facts")},
                           .environment = {"LD_PRELOAD=libjemalloc.so.2"}});
  std::istringstream lines(ended.out);
  JemallocFacts facts;
  std::string version;
  if (!std::getline(lines, version)) {
    facts.unusable =
        "libjemalloc.so.2 is not there (Debian: apt-get install libjemalloc2): " + ended.err;
    return facts;
  }
  if (!version.starts_with("5.3.0-")) {
    facts.unusable = "this is jemalloc " + version + ", not 5.3.0";
    return facts;
  }
  uint64_t metadata_bytes = 0;
  lines >> metadata_bytes;
  if (metadata_bytes < kTableBytes) {
    facts.other_build =
        "this jemalloc is built for addresses of 57 bits, as in Debian 13, and the model for 48: "
        "its index of extents has three levels of smaller tables, and it maps 4 MiB less";
  }
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
