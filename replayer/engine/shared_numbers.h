// Threads of a tape have more numbers than those of a replay: see ReplayOp::thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "schema/tape/event.h"

namespace heaptape::replayer {

// Leaves out the ends of threads that share their number in ReplayOp with an older one that lives:
// its cache is not to go.
class SharedNumbers {
 public:
  void filter(std::vector<schema::ThreadEnd>& ends) {
    std::erase_if(ends, [this](const schema::ThreadEnd& end) {
      constexpr uint32_t kNumbers = uint32_t{UINT16_MAX} + 1;
      return ++ended_[end.thread % kNumbers] <= end.thread / kNumbers;
    });
  }

 private:
  std::unordered_map<uint32_t, uint32_t> ended_;  // by number, how many of those that share it
};

}  // namespace heaptape::replayer
