// What the programs of a session say went unrecorded, and why.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "recorder/ring/session_layout.h"
#include "schema/tape/manifest.h"

namespace heaptape::recorder {

// A few words, fit for brackets: "statically linked".
const char* reason_text(Unrecorded reason);

// Counts notices by program and reason. What they hold is hostile: a reason that does not exist is
// dropped, and the list has an end. One thread.
class UnrecordedList {
 public:
  // Takes the notices that are ready, and makes their places free.
  void collect(SessionView session);
  // With others, the most frequent first.
  std::vector<schema::ManifestUnrecorded> entries(
      std::vector<schema::ManifestUnrecorded> others = {}) const;

 private:
  void add(Unrecorded reason, const std::string& program, int32_t times);

  std::map<std::pair<std::string, Unrecorded>, int64_t> times_;
};

}  // namespace heaptape::recorder
