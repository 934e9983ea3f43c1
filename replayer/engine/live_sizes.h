// The live bytes of a tape's program, call by call, for who needs no more: a tenth of what
// resolving blocks to slots costs. docs/architecture.md, "Moments".
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/address/address_shadow.h"
#include "replayer/answers/live_profile.h"
#include "schema/tape/event.h"

namespace heaptape::replayer {

// Says of every tape what SlotResolver says: tests/property/live_sizes_test.cc. One thread; events
// in the order of the tape.
class LiveSizes {
 public:
  // What it did to the number of live blocks: a resize changes nothing.
  using Change = LiveProfile::Change;
  Change note(const schema::Event& event) {
    switch (schema::op_info(event.op).kind) {
      case schema::OpKind::kAllocate:
        return allocate(event);
      case schema::OpKind::kResize:
        return resize(event);
      case schema::OpKind::kRelease:
        break;
    }
    return event.freed_address == 0 ? Change::kNone : release(event.freed_address);
  }
  uint64_t live_bytes() const { return live_bytes_; }

 private:
  static constexpr uint32_t kLarge = base::AddressShadow::kNone - 1;  // the size is in large_

  Change allocate(const schema::Event& event) {
    if (event.address == 0) return Change::kNone;
    put(event.address, event.size);
    live_bytes_ += event.size;
    return Change::kAllocated;
  }
  Change resize(const schema::Event& event) {
    if (event.freed_address == 0) return allocate(event);
    if (schema::frees_by_resize(event)) return release(event.freed_address);
    if (event.address == 0) return Change::kNone;
    const uint32_t size = sizes_.find(event.freed_address);
    if (size == base::AddressShadow::kNone) return allocate(event);
    live_bytes_ += event.size - take(event.freed_address, size);
    put(event.address, event.size);
    return Change::kNone;
  }
  Change release(uint64_t address) {
    const uint32_t size = sizes_.find(address);
    if (size == base::AddressShadow::kNone) return Change::kNone;
    live_bytes_ -= take(address, size);
    return Change::kFreed;
  }
  void put(uint64_t address, uint64_t size) {
    if (size >= kLarge) [[unlikely]]
      large_[address] = size;
    sizes_.set(address, size < kLarge ? static_cast<uint32_t>(size) : kLarge);
  }
  uint64_t take(uint64_t address, uint32_t size) {
    sizes_.clear(address);
    return size != kLarge ? size : take_large(address);
  }
  uint64_t take_large(uint64_t address) {
    const auto found = large_.find(address);
    const uint64_t size = found->second;
    large_.erase(found);
    return size;
  }

  base::AddressShadow sizes_;
  std::unordered_map<uint64_t, uint64_t> large_;  // of 4 GiB and more
  uint64_t live_bytes_ = 0;
};

}  // namespace heaptape::replayer
