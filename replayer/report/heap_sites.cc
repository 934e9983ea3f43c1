#include "replayer/report/heap_sites.h"

#include <algorithm>
#include <functional>

namespace heaptape::replayer {
namespace {

void add_hole(HeapSite& site, const Hole& hole) {
  site.hole_bytes += hole.range.bytes();
  site.resident_hole_bytes += hole.resident_bytes;
}

}  // namespace

std::vector<HeapSite> heap_sites(const HeapPicture& picture, std::span<const Hole> holes,
                                 const CallSites& calls) {
  std::vector<HeapSite> by_site(calls.sites().list().size());
  const auto site_of = [&](size_t block) { return calls.of_call(picture.blocks[block].birth); };
  for (size_t i = 0; i < picture.blocks.size(); ++i) {
    const LiveBlock& block = picture.blocks[i];
    HeapSite& site = by_site[site_of(i)];
    ++site.blocks;
    site.live_bytes += block.requested_bytes;
    site.slack_bytes += block.usable_bytes - block.requested_bytes;
  }
  for (const Hole& hole : holes) {
    const uint32_t after = site_of(hole.after);
    add_hole(by_site[after], hole);
    if (hole.before == kNoBlock) continue;
    const uint32_t before = site_of(hole.before);
    if (before != after) add_hole(by_site[before], hole);
  }
  for (uint32_t site = 0; site < by_site.size(); ++site) by_site[site].site = site;
  std::erase_if(by_site, [](const HeapSite& site) { return site.blocks == 0; });
  std::ranges::stable_sort(by_site, std::greater(), &HeapSite::held_bytes);
  return by_site;
}

std::vector<uint64_t> calls_to_name(const HeapPicture& picture,
                                    std::span<const HeapGrowth> growths) {
  std::vector<uint64_t> calls;
  for (const LiveBlock& block : picture.blocks) calls.push_back(block.birth);
  for (const HeapGrowth& growth : growths) {
    calls.push_back(growth.event);
    if (growth.pin) calls.push_back(growth.pin->birth);
  }
  return calls;
}

}  // namespace heaptape::replayer
