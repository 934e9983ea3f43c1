// Whether the memory of what is recorded comes near a limit, to write out the last calls before the
// kernel ends the program.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"

namespace heaptape::recorder {

// When the last calls are written out: one of the two, or neither.
struct FlushAt {
  double share = 0;             // of the limit of the control group, up to 1; 0: not by that
  uint64_t bytes = UINT64_MAX;  // resident in the recorded processes together

  bool operator==(const FlushAt&) const = default;
  bool any() const { return *this != FlushAt(); }
};

// Reads files of /proc and of control groups (version 2 or 1) each time. One thread.
class MemoryWatch {
 public:
  // Fails with kUsage if a share is asked for and neither our control group nor one around it has a
  // limit. `groups` is where control groups are mounted.
  static base::Result<MemoryWatch> open(const FlushAt& at,
                                        const std::string& groups = "/sys/fs/cgroup",
                                        const std::string& our_groups = "/proc/self/cgroup");

  // True once when the limit is reached; again only after use was below 90 % of it, and after a
  // pause: a second at first, each twice as long as the one before, an hour at most. `pids` are
  // those of the recorded processes.
  bool is_reached(const std::vector<uint32_t>& pids, uint64_t now_ns);
  // When to ask again: the less often, the longer it takes.
  uint64_t next_ns() const { return next_ns_; }

 private:
  // The files of a group with a limit.
  struct Group {
    std::string directory;
    bool is_v2;
  };

  explicit MemoryWatch(const FlushAt& at) : at_(at) {}
  static std::optional<uint64_t> limit_of(const Group& group);
  static uint64_t used_in(const Group& group);
  bool is_above(const std::vector<uint32_t>& pids, double part) const;

  FlushAt at_;
  std::vector<Group> groups_;
  bool is_armed_ = true;
  uint64_t reached_ns_ = 0;
  uint64_t pause_ns_ = 0;
  uint64_t next_ns_ = 0;
};

// Keeps asking in a thread of its own: the one that drains opens no file.
class MemoryAlarm {
 public:
  // `on_reached` is called in the thread, and must return soon. Throws std::system_error if there
  // can be no thread.
  MemoryAlarm(MemoryWatch watch, std::function<void()> on_reached);
  ~MemoryAlarm();
  MemoryAlarm(const MemoryAlarm&) = delete;
  MemoryAlarm& operator=(const MemoryAlarm&) = delete;

  // The recorded processes from now on. Any thread.
  void set_pids(std::vector<uint32_t> pids);

 private:
  void run();

  MemoryWatch watch_;  // of the thread
  const std::function<void()> on_reached_;
  std::mutex mutex_;  // of what follows
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::vector<uint32_t> pids_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace heaptape::recorder
