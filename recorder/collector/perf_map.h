// What a program says of the code that it makes at run time: /tmp/perf-PID.map, as perf(1) reads
// it. docs/howto-record.md, "Call stacks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address/address_map.h"
#include "base/address/address_range.h"
#include "base/descriptor.h"

namespace heaptape::recorder {

// Lines "BEGIN BYTES NAME", the numbers in hexadecimal, which the program appends while it runs.
// The file may be missing, replaced, or anything at all. Guarantees:
// - Only a regular file is opened, of the program's user, and no symbolic link is followed.
// - What an older process of the same number left there is not believed: no file that was last
//   written before the process was there, nor what such a file held when it was.
// - At most kMostBytes are read in all, and kMostNames kept; names are cut to kMostNameBytes.
// Any thread.
class PerfMap {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  static constexpr size_t kMostNames = size_t{1} << 20;
  static constexpr size_t kMostNameBytes = 1024;

  struct Name {
    uint32_t index = 0;  // of its line, among those that make sense
    base::AddressRange code;
    std::string text;  // bytes
  };

  // Of the process `pid`, which may not say anything yet, in its folder /tmp; null: that cannot be
  // opened.
  static std::shared_ptr<PerfMap> of_process(uint32_t pid);

  // In `folder`, for the process that calls itself `pid`, of the user `owner`, which was there at
  // `begin_ns` (CLOCK_REALTIME; some seconds too early do not matter).
  PerfMap(std::shared_ptr<const base::Descriptor> folder, uint32_t owner, uint32_t pid,
          int64_t begin_ns)
      : folder_(std::move(folder)), owner_(owner), pid_(pid), begin_ns_(begin_ns) {}
  // That of a process which this one has just forked. Opens no file.
  std::shared_ptr<PerfMap> of_child(uint32_t pid) const;

  // Leaves out what the file holds by now if it is an older process's.
  void skip_old();
  // Reads what came since the last call; of a file that was replaced, all. Returns how many names
  // are known now; names are never forgotten.
  size_t refresh();
  // What was last said of the address. Does not wait while another thread reads.
  std::optional<Name> find(uint64_t address) const;

 private:
  // Which file was read, and how far.
  struct Progress {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t offset = 0;     // behind the last line that was read
    std::string tail;        // what stood right before
    bool is_inside = false;  // of a line that is too long, or another's
  };

  // A file as it was found.
  struct Found {
    base::Descriptor file;
    Progress progress;  // at its beginning
    uint64_t bytes = 0;
    int64_t written_ns = 0;  // CLOCK_REALTIME
  };

  Found open_file() const;
  bool goes_on(const Found& found) const;
  void read_on(const Found& found);
  void take(std::string_view text);
  size_t names() const;

  const std::shared_ptr<const base::Descriptor> folder_;
  const uint32_t owner_;
  const uint32_t pid_;
  const int64_t begin_ns_;
  std::mutex read_mutex_;  // of the next two; held while the file is read
  Progress progress_;
  uint64_t bytes_ = 0;        // read in all
  mutable std::mutex mutex_;  // of the rest; taken last, and not held while the file is read
  std::vector<Name> names_;
  base::AddressMap<uint32_t> by_address_;  // indices into names_
};

// Those of a process, its own first, where it has code of its ancestors', too.
using PerfMaps = std::vector<std::shared_ptr<PerfMap>>;

inline constexpr size_t kMostPerfMaps = 16;

// Of a child `pid` that a process with these has just forked: those of the nearest ancestors.
PerfMaps perf_maps_of_child(const PerfMaps& parent, uint32_t pid);

}  // namespace heaptape::recorder
