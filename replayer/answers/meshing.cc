#include "replayer/answers/meshing.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace heaptape::replayer {
namespace {

using base::AddressRange;
using base::kPageBytes;

// `ranges` ascend.
bool contain(const std::vector<AddressRange>& ranges, uint64_t address) {
  const auto next = std::ranges::upper_bound(ranges, address, {}, &AddressRange::begin);
  return next != ranges.begin() && address < std::prev(next)->end;
}

bool is_resident(const HeapPicture& picture, uint64_t page) {
  return contain(picture.regions, page) && !(picture.absent && contain(*picture.absent, page));
}

// By address, every page in which a block begins or ends.
std::map<uint64_t, LiveGranules> edge_pages(const HeapPicture& picture) {
  const int log2 = picture.granule_log2;
  const uint64_t granules = kPageBytes >> log2;
  std::map<uint64_t, LiveGranules> pages;
  for (const LiveBlock& block : picture.blocks) {
    const uint64_t first = block.address >> log2;
    const uint64_t last = (std::max(block.end(), block.address + 1) - 1) >> log2;
    for (const uint64_t page : {first / granules, last / granules}) {
      LiveGranules& live = pages.try_emplace(pages.end(), page * kPageBytes)->second;
      const uint64_t begin = page * granules;
      const uint64_t end = std::min(last + 1, begin + granules);
      for (uint64_t at = std::max(first, begin); at < end; ++at) {
        live[(at - begin) / 64] |= uint64_t{1} << (at - begin) % 64;
      }
    }
  }
  return pages;
}

size_t count(const LiveGranules& live) {
  size_t bits = 0;
  for (const uint64_t word : live) bits += static_cast<size_t>(std::popcount(word));
  return bits;
}

bool are_disjoint(const LiveGranules& a, const LiveGranules& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return false;
  }
  return true;
}

// A lower bound on the remaining pages: pages that share one live granule need a page each, and so
// do pages that are more than half full.
size_t least_pages(std::span<const PartlyLivePage> pages, size_t granules) {
  std::vector<size_t> sharing(granules);
  size_t over_half = 0;
  for (const PartlyLivePage& page : pages) {
    over_half += count(page.live) * 2 > granules;
    for (size_t i = 0; i < page.live.size(); ++i) {
      for (uint64_t word = page.live[i]; word != 0; word &= word - 1) {
        ++sharing[i * 64 + static_cast<size_t>(std::countr_zero(word))];
      }
    }
  }
  return std::max(over_half, std::ranges::max(sharing));
}

}  // namespace

std::vector<PartlyLivePage> partly_live_pages(const HeapPicture& picture) {
  const size_t granules = kPageBytes >> picture.granule_log2;
  std::vector<PartlyLivePage> pages;
  for (const auto& [address, live] : edge_pages(picture)) {
    if (count(live) < granules && is_resident(picture, address)) pages.push_back({address, live});
  }
  return pages;
}

// First fit, the fullest page first: a page joins a group that it does not overlap, or begins one.
// Each search resumes where the last one ended, so that a group that nothing fits is not tested
// again and again if there are too many to test them all.
std::vector<uint32_t> mesh(std::span<const PartlyLivePage> pages) {
  const size_t most_tests = std::max<size_t>(64, kMeshTests / std::max<size_t>(pages.size(), 1));
  std::vector<std::pair<size_t, uint32_t>> order;  // by free granules
  for (uint32_t i = 0; i < pages.size(); ++i) {
    order.emplace_back(sizeof(LiveGranules) * 8 - count(pages[i].live), i);
  }
  std::ranges::sort(order);
  std::vector<LiveGranules> groups;
  std::vector<uint32_t> group_of(pages.size());
  size_t group = 0;
  for (const auto& [room, page] : order) {
    const LiveGranules& live = pages[page].live;
    size_t tests_left = std::min(groups.size(), most_tests);
    for (; tests_left != 0; --tests_left) {
      if (group == groups.size()) group = 0;
      if (are_disjoint(groups[group], live)) break;
      ++group;
    }
    if (tests_left == 0) {
      group = groups.size();
      groups.emplace_back();
    }
    for (size_t i = 0; i < live.size(); ++i) groups[group][i] |= live[i];
    group_of[page] = static_cast<uint32_t>(group);
  }
  return group_of;
}

MeshEstimate estimate_meshing(const HeapPicture& picture) {
  const std::vector<PartlyLivePage> pages = partly_live_pages(picture);
  if (pages.empty()) return {};
  const std::vector<uint32_t> group_of = mesh(pages);
  const size_t groups = std::ranges::max(group_of) + size_t{1};
  const size_t least = least_pages(pages, kPageBytes >> picture.granule_log2);
  return {.pages = pages.size(),
          .meshable_bytes = (pages.size() - groups) * kPageBytes,
          .most_bytes = (pages.size() - least) * kPageBytes};
}

}  // namespace heaptape::replayer
