// The names of code that one process made at run time, as its tape gets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "recorder/collector/perf_map.h"
#include "schema/tape/stack.h"

namespace heaptape::recorder {

// Only code that stacks come through gets onto the tape, so without such code no file is opened.
// Memory is bounded. Any thread; look() may take long.
class CodeNames {
 public:
  // In their order: the first that has a name gives it. None may be null.
  explicit CodeNames(PerfMaps maps) : maps_(std::move(maps)) {}

  // Code that names are looked for from now on: addresses of calls, of no file.
  void add(const std::vector<uint64_t>& calls);
  // Reads what the program has said by now. Returns how many calls a name was looked for; those
  // without one are looked for again where the program has said more.
  size_t look();
  // What was found since the last call, as mappings: for the tape.
  std::vector<schema::CodeMapping> take();

 private:
  bool find(uint64_t call, std::vector<schema::CodeMapping>& found);

  const PerfMaps maps_;
  std::mutex look_mutex_;                        // of the next four; for a whole look()
  std::set<uint64_t> unnamed_;                   // calls that no name was found for
  size_t known_names_ = 0;                       // in all maps, when that was
  std::set<std::pair<size_t, uint32_t>> given_;  // map and index of the name
  size_t bytes_ = 0;                             // of all names
  std::mutex mutex_;          // of the rest; never held while a file is read or names are searched
  std::set<uint64_t> calls_;  // since the last look()
  std::vector<schema::CodeMapping> found_;
};

}  // namespace heaptape::recorder
