// The files whose code is on the stacks of a tape, and where in memory it was.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "replayer/export/shown_stacks.h"

namespace heaptape::replayer {

// All mappings of one path, as one.
struct MappedModule {
  std::string path;  // bytes
  uint64_t begin;
  uint64_t end;
  uint64_t file_offset;  // of `begin`
  std::string build_id;  // bytes
};

class MappedModules {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit MappedModules(const ShownStacks& stacks);

  // In the order in which the tape has them.
  const std::vector<MappedModule>& list() const { return list_; }
  // The index of that path in list(), or kNone.
  uint32_t find(const std::string& path) const {
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? kNone : found->second;
  }
  // The address of a call in that place (an index into the places of the symbols): from its first
  // frame; 0 if it has none.
  uint64_t address_of(uint32_t place) const { return addresses_[place]; }

 private:
  void add(const schema::CodeMapping& mapping);
  void find_addresses(const ShownStacks& stacks);

  std::vector<MappedModule> list_;
  std::unordered_map<std::string, uint32_t> by_path_;
  std::vector<uint64_t> addresses_;  // by place
};

}  // namespace heaptape::replayer
