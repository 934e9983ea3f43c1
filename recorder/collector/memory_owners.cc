#include "recorder/collector/memory_owners.h"

#include <algorithm>
#include <iterator>

#include "base/address/pages.h"

namespace heaptape::recorder {
namespace {

using base::AddressRange;
using schema::MappingOp;

}  // namespace

void MemoryOwners::note(const MappingNote& call) {
  const bool maps = call.op == MappingOp::kMap || call.op == MappingOp::kGrowBreak;
  const bool unmaps = call.op == MappingOp::kUnmap || call.op == MappingOp::kShrinkBreak;
  if (!maps && !unmaps) return;
  if (awaits_) {
    if (waiting_.size() < kMostRanges) waiting_.push_back(call);
    return;
  }
  const AddressRange range = {base::page_down(call.range.begin),
                              std::min(base::page_up(call.range.end), base::kAddressLimit)};
  if (ranges_.size() >= kMostRanges) return ranges_.erase_parts(range);
  if (unmaps) return ranges_.erase(range);
  const auto found = numbers_.find(call.caller);
  const bool is_new = found == numbers_.end();
  if (is_new && callers_.size() >= kMostCallers) return ranges_.erase(range);
  const auto number = is_new ? static_cast<uint32_t>(callers_.size()) : found->second;
  if (is_new) {
    callers_.push_back({call.caller, ""});
    numbers_.emplace(call.caller, number);
    unnamed_.push_back(number);
  }
  ranges_.assign(range, number);
}

void MemoryOwners::inherit(const MemoryOwners& parent) {
  const std::vector<MappingNote> own = std::move(waiting_);
  *this = parent;
  awaits_ = false;
  waiting_.clear();
  for (const MappingNote& call : own) note(call);
}

void MemoryOwners::name_callers(const std::vector<CodeOwner>& code) {
  std::erase_if(unnamed_, [&](uint32_t number) {
    Caller& caller = callers_[number];
    // It returns behind the call, which may be the last instruction.
    const uint64_t call = caller.address - 1;
    const auto after = std::ranges::upper_bound(
        code, call, {}, [](const CodeOwner& owner) { return owner.code.begin; });
    if (after == code.begin() || call >= std::prev(after)->code.end) {
      return ++caller.looks == kMostLooks;
    }
    caller.owner = std::prev(after)->owner;
    return true;
  });
}

}  // namespace heaptape::recorder
