// A control group that limits memory, for as long as the object lives.
#pragma once

#include <cstdint>
#include <string>

namespace heaptape::tests {

class MemoryGroup {
 public:
  explicit MemoryGroup(uint64_t limit_bytes);
  ~MemoryGroup();
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  // Why this machine lets us make none; empty if it did.
  const std::string& missing() const { return missing_; }
  // Moves the calling process into the group. For Command's before_exec: allocates nothing.
  void enter() const;

 private:
  std::string folder_;
  std::string processes_;  // the file that takes process ids
  std::string missing_;
};

}  // namespace heaptape::tests
