// The owners of memory beside malloc: the files whose code mapped it, where a hook saw that.
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
  std::string owner;  // schema::owner_of_file()

  bool operator==(const CodeOwner&) const = default;
};

// What owners need of a call that maps memory, or gives it back.
struct MappingNote {
  schema::MappingOp op = schema::MappingOp::kMap;
  base::AddressRange range;
  uint64_t caller = 0;  // the address to which it returns
};

// Memory unmapped past the hooks keeps its owner here, until somebody maps it anew. One thread.
class MemoryOwners {
 public:
  // Against hostile programs: beyond these limits, ranges and callers have no owner.
  static constexpr size_t kMostRanges = 1 << 17;
  static constexpr size_t kMostCallers = 1 << 16;

  // Calls come in their order.
  void note(const MappingNote& call);

  // A forked child begins with its parent's. The parent's calls before the fork may not have been
  // read yet: until inherit(), the child's own calls wait.
  void await_inheritance() { awaits_ = true; }
  bool awaits_inheritance() const { return awaits_; }
  void inherit(const MemoryOwners& parent);

  // Names the callers that have no name yet. `code` is sorted by address, and may be older than the
  // last calls: a caller that is not in it is looked for again, a few times.
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
  static constexpr uint8_t kMostLooks = 50;

  struct Caller {
    uint64_t address;
    std::string owner;  // empty: not known
    uint8_t looks = 0;
  };

  base::RangeMap<uint32_t> ranges_;  // number in callers_
  std::vector<Caller> callers_;
  std::unordered_map<uint64_t, uint32_t> numbers_;  // of callers, by address
  std::vector<uint32_t> unnamed_;                   // callers to be looked for
  bool awaits_ = false;
  std::vector<MappingNote> waiting_;  // while it awaits
};

}  // namespace heaptape::recorder
