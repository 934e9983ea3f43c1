// The settings that the program made in its allocator, as far as they still hold
// (schema::SteeringEffect::kLasting). The tape of a forked child begins with them: the calls
// themselves are on the tape of its parent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "schema/tape/steering_op.h"

namespace heaptape::recorder {

// Any thread, and without a lock, which a fork could leave locked. Zero-initialized.
class LastingSettings {
 public:
  // A later call for the same setting replaces an earlier one. Ignores calls that do not last,
  // those that concern one thread, and settings beyond kMost.
  void note(schema::SteeringOp op, int64_t first, int64_t second);
  // Calls visit(op, first, second) for each, in the order of their last calls: one for all arenas
  // replaces those for single ones.
  template <typename Visit>
  void for_each(Visit visit) const {
    const Setting* next = after(0);
    for (; next != nullptr; next = after(next->order.load())) {
      visit(static_cast<schema::SteeringOp>(next->key.load() >> kOpShift & UINT8_MAX),
            next->first.load(), next->second.load());
    }
  }

 private:
  static constexpr size_t kMost = 64;
  static constexpr uint32_t kOpShift = 32;
  static constexpr uint64_t kTaken = uint64_t{1} << 63;

  struct Setting {
    std::atomic<uint64_t> key;  // kTaken, the op, and what the call sets; 0: free
    std::atomic<int64_t> first;
    std::atomic<int64_t> second;
    std::atomic<uint64_t> order;  // from 1; 0: not set yet
  };
  const Setting* after(uint64_t order) const;  // null: none

  std::atomic<uint64_t> last_order_;
  Setting settings_[kMost];
};
extern constinit LastingSettings lasting_settings;  // of this process

}  // namespace heaptape::recorder
