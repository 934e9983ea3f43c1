// Who mapped the memory of a process that is not malloc's, as far as the hooks saw it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/address/address_range.h"
#include "base/address/range_map.h"
#include "schema/tape/event.h"

namespace heaptape::recorder {

// A program or library, where its code is.
struct CodeOwner {
  base::AddressRange code;
  std::string owner;  // owner_of_file()

  bool operator==(const CodeOwner&) const = default;
};

// The name of a file as an owner of memory, without folder and version: "libarrow" for
// /usr/lib/libarrow.so.1200. What no name may have (schema::is_owner_name) becomes '_'; empty if
// the path has no name.
std::string owner_of_file(std::string_view path);
// The same for the name that the kernel shows of anonymous memory: "v8" for "[anon:v8]".
std::string owner_of_kernel_name(std::string_view name);

// Memory that is unmapped behind the hooks, by a system call of the program's own, still has its
// owner here: it matters only once somebody else gets it behind them, too. One thread.
class MemoryOwners {
 public:
  // What a hostile program does at most: more ranges or callers have no owner.
  static constexpr size_t kMostRanges = 1 << 17;
  static constexpr size_t kMostCallers = 1 << 16;

  // After the ones before.
  void note(const schema::MappingCall& call);
  // What a child has from its parent when it is forked.
  void inherit(const MemoryOwners& parent) { *this = parent; }
  // Finds out whose callers are that came since the last time. `code` is sorted by address.
  void name_callers(const std::vector<CodeOwner>& code);

  // Calls visit(part, owner) for each part of `window` whose owner is known, ascending.
  template <typename Visit>
  void for_each_in(base::AddressRange window, Visit visit) const {
    ranges_.for_each_in(window, [&](base::AddressRange part, uint32_t caller) {
      const std::string& owner = callers_[caller].owner;
      if (!owner.empty()) visit(part, owner);
    });
  }

 private:
  struct Caller {
    uint64_t address;
    std::string owner;  // empty: not known
  };

  base::RangeMap<uint32_t> ranges_;  // number in callers_
  std::vector<Caller> callers_;
  std::unordered_map<uint64_t, uint32_t> numbers_;  // of callers, by address
  size_t named_ = 0;                                // callers that name_callers() has seen
};

}  // namespace heaptape::recorder
