// What can be seen of a process from outside, through /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address/address_range.h"
#include "recorder/collector/live_set.h"
#include "schema/tape/event.h"

namespace heaptape::recorder {

// Resident size and heap regions of the process; nothing when it is gone or not ours to look at.
// The regions are its writable anonymous mappings that hold a live block: other mappings of the
// kind (stacks, a garbage collector's own pages) are not malloc's. Blocks of glibc that have a
// mapping of their own do not count: the kernel shows such mappings merged with their neighbours,
// and the tape tells their extent better. time_ns and event are left 0.
std::optional<schema::ProcessSample> sample_process(uint32_t pid, const LiveSet& live,
                                                    bool is_glibc);

// The writable anonymous mappings in the text of /proc/PID/maps, ascending.
std::vector<base::AddressRange> parse_writable_anonymous(std::string_view maps);

// Who a process is. Strings are empty where /proc does not tell.
struct ProcessIdentity {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  std::string executable;
  std::vector<std::string> command_line;
};
ProcessIdentity identify_process(uint32_t pid);

}  // namespace heaptape::recorder
