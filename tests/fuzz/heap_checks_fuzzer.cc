// HeapChecks against the plainest way to find the same faults: each call must be found wrong
// exactly when it is.
#include "allocators/plugin/heap_checks.h"

#include "base/address/pages.h"
#include "base/check.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/plain_heap.h"

namespace heaptape::fuzz {
namespace {

using allocators::HeapChecks;

constexpr uint64_t kBase = 0x100000000000;
constexpr uint64_t kLeap = 40 << 20;  // so that heaps span leaves of the map
constexpr AddressRange kWindow = {kBase, kBase + 16 * kLeap};

class Play {
 public:
  explicit Play(Input input)
      : input_(input),
        granule_log2_(3 + input_.byte() % 4),
        checks_(granule_log2_, kWindow, HeapChecks::Blocks::kChecked),
        plain_(uint64_t{1} << granule_log2_, kWindow) {}

  void run() {
    while (!input_.empty()) {
      const bool is_right = act();
      HEAPTAPE_CHECK(checks_.has_fault() != is_right);
      HEAPTAPE_CHECK(checks_.live_blocks() == plain_.blocks.size() || !is_right);
      if (!is_right) return;
    }
  }

 private:
  // Returns whether the call was right.
  bool act() {
    switch (input_.byte() % 8) {
      case 0:
      case 1:
        return commit();
      case 2:
        return decommit(next_range());
      case 3:
        return take(false);
      case 4:
        return take(true);
      case 5:
        return absent();
      default:
        return place();
    }
  }

  // A wrong call ends the heap: most are left out, so that heaps come to hold something before.
  bool may_do(bool is_right) { return is_right || input_.byte() >= 240; }

  bool commit() {
    const AddressRange range = next_range();
    const bool is_right = plain_.may_commit(range);
    if (!may_do(is_right)) return true;
    HEAPTAPE_CHECK(checks_.commit(range) == is_right);
    if (is_right) plain_.committed.push_back(range);
    return is_right;
  }

  bool decommit(AddressRange range) {
    const bool is_right = plain_.may_decommit(range);
    if (!may_do(is_right)) return true;
    HEAPTAPE_CHECK(checks_.decommit(range) == is_right);
    if (is_right) plain_.remove_committed(range);
    return is_right;
  }

  bool place() {
    const uint64_t address = next_address();
    const uint64_t usable_bytes = next_bytes();
    const uint64_t size = usable_bytes + input_.byte() % 2;
    const uint8_t choice = input_.byte();
    const uint64_t alignment = choice % 2 == 0 ? 0 : uint64_t{1} << choice / 2 % 64;
    const bool is_right = plain_.may_place(address, usable_bytes, size, alignment);
    if (!may_do(is_right)) return true;
    HEAPTAPE_CHECK(checks_.place({address, usable_bytes}, size, alignment) == is_right);
    if (is_right) plain_.blocks.push_back(plain_.granules(address, usable_bytes));
    return is_right;
  }

  // With `refused`: as in a resize that fails, with a decommit in between.
  bool take(bool refused) {
    if (plain_.blocks.empty()) return true;
    const auto taken = plain_.blocks.begin() + input_.byte() % plain_.blocks.size();
    const AddressRange block = *taken;
    plain_.blocks.erase(taken);
    const AddressRange told = checks_.take(block.begin);
    HEAPTAPE_CHECK(told.begin == block.begin && told.end == block.end);
    if (!refused) return true;
    const bool under_it = input_.byte() % 2 == 0;
    if (!decommit(under_it ? pages_of(block) : next_range())) return false;
    const bool is_right = plain_.is_committed(block);
    HEAPTAPE_CHECK(checks_.put_back(block) == is_right);
    if (is_right) plain_.blocks.push_back(block);
    return is_right;
  }

  bool absent() {
    std::vector<AddressRange> ranges(input_.byte() % 4);
    for (AddressRange& range : ranges) range = next_range();
    const bool is_right = plain_.may_be_absent(ranges);
    if (!may_do(is_right)) return true;
    HEAPTAPE_CHECK(checks_.absent(ranges) == is_right);
    return is_right;
  }

  static AddressRange pages_of(AddressRange block) {
    return {base::page_down(block.begin), base::page_up(block.end)};
  }

  // Mostly places where things meet, now and then anything.
  uint64_t next_address() {
    const uint8_t choice = input_.byte();
    if (choice == 255) return input_.word();
    const uint64_t page = kBase + choice % 4 * kLeap + choice / 4 % 8 * 4096;
    return choice < 128 ? page : page + (uint64_t{input_.byte()} << granule_log2_);
  }
  uint64_t next_bytes() {
    const uint8_t choice = input_.byte();
    if (choice == 255) return input_.word();
    if (choice < 128) return choice;
    return choice % 2 == 0 ? choice / 2 % 8 * 4096 : choice / 2 % 4 * kLeap;
  }
  AddressRange next_range() {
    const uint64_t begin = next_address();
    return {begin, begin + next_bytes()};
  }

  Input input_;
  int granule_log2_;
  HeapChecks checks_;
  PlainHeap plain_;
};

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heaptape::fuzz::Play(heaptape::fuzz::Input(data, size)).run();
  return 0;
}
