// The ids and names of the threads of one process.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/ring/session_layout.h"
#include "schema/tape/tape_info.h"

namespace heaptape::recorder {

// Takes each thread's name as it was when the thread claimed its ring, and looks in /proc a few
// times later: most threads are named after they began. Lists the first kMostThreadsListed. One
// thread.
class ThreadNames {
 public:
  // The next thread, by number, has this ring, which must outlive the list.
  void add(const RingHeader& ring, uint64_t now_ns);
  // Reads the names that are due, of a process whose ids mean the same to us.
  void refresh_if_due(uint32_t pid, uint64_t now_ns);

  const std::vector<schema::ThreadIdentity>& list() const { return list_; }

 private:
  struct Look {
    const RingHeader* ring;
    uint32_t thread;
    uint64_t at_ns;
    uint64_t next_after_ns;
  };

  std::vector<schema::ThreadIdentity> list_;
  std::vector<Look> looks_;
  uint64_t next_ns_ = 0;
};

}  // namespace heaptape::recorder
