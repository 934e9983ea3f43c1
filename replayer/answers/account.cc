#include "replayer/answers/account.h"

#include <algorithm>
#include <bit>

#include "base/address/overlap.h"
#include "base/address/pages.h"
#include "replayer/heap_map/unseen_memory.h"

namespace heaptape::replayer {
namespace {

using base::Overlap;
using base::page_down;
using base::page_up;

constexpr uint64_t kChunkHeaderBytes = 16;  // of glibc: from a chunk to its block
constexpr uint64_t kChunkLinkBytes = 48;    // sizeof(struct malloc_chunk)
constexpr uint64_t kLeastChunkBytes = 32;

class AccountTaker {
 public:
  AccountTaker(const HeapMap& map, std::span<const AddressRange> absent,
               const allocators::KeptMemory& kept, const std::optional<TrimRule>& trim,
               const std::optional<std::vector<AddressRange>>& unseen)
      : map_(map),
        absent_(absent),
        pages_absent_(absent),
        parts_absent_(absent),
        cached_(kept.cached),
        own_(kept.own),
        trim_(trim),
        unseen_(unseen) {
    if (trim_) account_.trimmable_bytes = 0;
    if (!unseen_) return;
    account_.late.emplace();
    for (const AddressRange& range : *unseen_) account_.late->unseen_bytes += range.bytes();
  }

  Account take(const BlockSums& blocks, std::span<const AddressRange> absent) {
    map_.for_each_gap([this](AddressRange region, AddressRange gap) { add(region, gap); });
    account_.committed_bytes = map_.committed_bytes();
    account_.live_bytes = blocks.live_bytes;
    account_.slack_bytes =
        blocks.usable_bytes > blocks.live_bytes ? blocks.usable_bytes - blocks.live_bytes : 0;
    account_.metadata_bytes += blocks.rounding_bytes;
    uint64_t absent_bytes = 0;
    for (const AddressRange& range : absent) absent_bytes += range.bytes();
    account_.resident_bytes = account_.committed_bytes - absent_bytes;
    account_.untouched_bytes = absent_bytes - absent_gap_bytes_;
    const uint64_t explained = account_.live_bytes + account_.slack_bytes +
                               account_.metadata_bytes + account_.cached_bytes +
                               account_.hole_bytes + account_.top_bytes + account_.returned_bytes +
                               (account_.late ? account_.late->unseen_bytes : 0);
    account_.unexplained_bytes = static_cast<int64_t>(account_.committed_bytes - explained);
    return account_;
  }

 private:
  void add(AddressRange region, AddressRange gap) {
    const uint64_t absent_bytes = absent_.bytes(gap);
    absent_gap_bytes_ += absent_bytes;
    const GapKind kind = gap_kind(region, gap);
    const bool is_hole = kind == GapKind::kInner && map_.is_hole(region, gap);
    if (kind != GapKind::kTop && !is_hole) {
      // A header may contain an absent page.
      account_.metadata_bytes += gap.bytes() - absent_bytes;
      account_.returned_bytes += absent_bytes;
      return;
    }
    add_free(region, gap, absent_bytes, is_hole);
  }

  // Memory kept for reuse counts as in use: pages that hold some of it cannot go.
  void add_free(AddressRange region, AddressRange gap, uint64_t absent_bytes, bool is_hole) {
    in_gap_.clear();
    cached_.for_each(
        gap, [this](AddressRange part) { in_gap_.push_back({part, &account_.cached_bytes}); });
    own_.for_each(
        gap, [this](AddressRange part) { in_gap_.push_back({part, &account_.metadata_bytes}); });
    std::ranges::sort(in_gap_, {}, [](const Kept& kept) { return kept.part.begin; });
    uint64_t kept_bytes = 0;
    uint64_t begin = gap.begin;
    for (const auto& [part, sum] : in_gap_) {
      add_free_stretch(region, {begin, part.begin});
      begin = part.end;
      const uint64_t resident_bytes = part.bytes() - parts_absent_.bytes(part);
      *sum += resident_bytes;
      kept_bytes += resident_bytes;
    }
    add_free_stretch(region, {begin, gap.end});
    account_.returned_bytes += absent_bytes;
    const uint64_t free_bytes = gap.bytes() - absent_bytes - kept_bytes;
    if (!is_hole) {
      account_.top_bytes += free_bytes;
      return;
    }
    account_.hole_bytes += free_bytes;
    HoleClass& holes = account_.holes[static_cast<size_t>(std::bit_width(gap.bytes())) - 1];
    ++holes.count;
    holes.bytes += gap.bytes();
    holes.resident_bytes += free_bytes;
    if (unseen_ && unseen_sides(*unseen_, gap).any()) {
      ++account_.late->open_holes;
      account_.late->open_hole_bytes += free_bytes;
    }
  }

  void add_free_stretch(AddressRange region, AddressRange stretch) {
    if (stretch.begin >= stretch.end) return;
    account_.purgeable_bytes += resident({page_up(stretch.begin), page_down(stretch.end)});
    if (!trim_) return;
    if (stretch.end == region.end) {
      add_trimmed_top(region, stretch);
    } else {
      *account_.trimmable_bytes +=
          resident({page_up(stretch.begin - kChunkHeaderBytes + kChunkLinkBytes),
                    page_down(stretch.end - kChunkHeaderBytes)});
    }
  }

  // malloc_trim gives back only the top of the main heap.
  void add_trimmed_top(AddressRange region, AddressRange top) {
    if (trim_->initial_break < region.begin || trim_->initial_break >= region.end) return;
    const uint64_t chunk_bytes = top.bytes() + kChunkHeaderBytes;
    if (chunk_bytes <= kLeastChunkBytes + 1) return;
    const uint64_t bytes = page_down(chunk_bytes - kLeastChunkBytes - 1);
    *account_.trimmable_bytes += resident({top.end - bytes, top.end});
  }

  uint64_t resident(AddressRange pages) {
    return pages.begin < pages.end ? pages.bytes() - pages_absent_.bytes(pages) : 0;
  }

  const HeapMap& map_;
  Overlap absent_;
  Overlap pages_absent_;
  Overlap parts_absent_;
  Overlap cached_;
  Overlap own_;
  const std::optional<TrimRule> trim_;
  const std::optional<std::vector<AddressRange>>& unseen_;
  struct Kept {
    AddressRange part;
    uint64_t* sum;  // where it counts in the account
  };
  std::vector<Kept> in_gap_;  // of the current gap
  uint64_t absent_gap_bytes_ = 0;
  Account account_;
};

}  // namespace

Account take_account(const HeapMap& map, const BlockSums& blocks,
                     const std::optional<std::vector<AddressRange>>& absent,
                     const allocators::KeptMemory& kept, const std::optional<TrimRule>& trim,
                     const std::optional<std::vector<AddressRange>>& unseen) {
  const std::vector<AddressRange> none;
  const std::vector<AddressRange>& ranges = absent ? *absent : none;
  return AccountTaker(map, ranges, kept, trim, unseen).take(blocks, ranges);
}

void apply_own_statistics(const allocators::OwnStatistics& own, uint64_t usable_bytes,
                          Account& account) {
  const auto take = [](uint64_t bytes, uint64_t& from) {
    const uint64_t taken = std::min(bytes, from);
    from -= taken;
    return taken;
  };
  uint64_t cached_bytes = own.cached_bytes.value_or(0);
  if (!own.cached_bytes && own.allocated_bytes && *own.allocated_bytes > usable_bytes) {
    cached_bytes = *own.allocated_bytes - usable_bytes;
  }
  account.cached_bytes += take(cached_bytes, account.hole_bytes);
  const uint64_t metadata_bytes = own.metadata_bytes.value_or(0);
  const uint64_t in_tops = take(metadata_bytes, account.top_bytes);
  account.metadata_bytes += in_tops + take(metadata_bytes - in_tops, account.hole_bytes);
}

}  // namespace heaptape::replayer
