// The call sites of a tape's blocks, as in a report. docs/metrics.md, "Sites". Free of Cap'n Proto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::schema {

struct SiteBytes {
  uint64_t peak = 0;
  uint64_t end = 0;
  uint64_t asked = 0;
};

// A site. Its text is printable; unknown fields are empty or 0.
struct CallSite {
  std::string text;  // "lex (lex.h:3)"
  std::string function;
  std::string file;
  uint32_t line = 0;
  std::string module;
  SiteBytes bytes;
  SiteBytes errors = {};  // standard errors of these; 0 where they are exact
};

struct SiteFigures {
  SiteBytes total;             // of all sites, including unlisted ones
  std::vector<CallSite> list;  // the greatest
  bool is_sampled = false;     // all of it is an estimate
  SiteBytes total_errors = {};
};

}  // namespace heaptape::schema
