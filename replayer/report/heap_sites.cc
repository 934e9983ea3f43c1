#include "replayer/report/heap_sites.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "replayer/sites/site_table.h"

namespace heaptape::replayer {
namespace {

// A block's part of the holes beside it: half of each that lies between two blocks.
struct HoleShare {
  double bytes = 0;
  double resident_bytes = 0;
};

// The sums of a site, unrounded: below 2^53 they are integers unless stacks were sampled.
struct Sums {
  double blocks = 0;
  double live_bytes = 0;
  double slack_bytes = 0;
  double hole_bytes = 0;
  double resident_hole_bytes = 0;
  struct {
    double blocks = 0;
    double live_bytes = 0;
    double hole_bytes = 0;
    double resident_hole_bytes = 0;
  } variances = {};

  // `holes`: what of them a sampled block accounts for, unweighted.
  void add_variance(const LiveBlock& block, const HoleShare& holes, double weight) {
    const double variance = weight * (weight - 1);
    const auto square = [variance](double value) { return variance * value * value; };
    variances.blocks += variance;
    variances.live_bytes += square(static_cast<double>(block.requested_bytes));
    variances.hole_bytes += square(holes.bytes);
    variances.resident_hole_bytes += square(holes.resident_bytes);
  }
  void add(const LiveBlock& block, double weight) {
    blocks += weight;
    live_bytes += weight * static_cast<double>(block.requested_bytes);
    slack_bytes += weight * static_cast<double>(block.usable_bytes - block.requested_bytes);
  }
  void add(const Hole& hole, double weight) {
    hole_bytes += weight * static_cast<double>(hole.range.bytes());
    resident_hole_bytes += weight * static_cast<double>(hole.resident_bytes);
  }
  HeapSite rounded(uint32_t site) const {
    const auto whole = [](double sum) {
      return static_cast<uint64_t>(std::llround(std::min(sum, 1e18)));
    };
    return {site,
            whole(blocks),
            whole(live_bytes),
            whole(slack_bytes),
            whole(hole_bytes),
            whole(resident_hole_bytes),
            {standard_error(variances.blocks), standard_error(variances.live_bytes),
             standard_error(variances.hole_bytes), standard_error(variances.resident_hole_bytes)}};
  }
};

// By block.
std::vector<HoleShare> hole_shares(const HeapPicture& picture, std::span<const Hole> holes) {
  std::vector<HoleShare> shares(picture.blocks.size());
  for (const Hole& hole : holes) {
    const bool has_two = !hole.is_open() && hole.before != kNoBlock && hole.after != kNoBlock;
    const double part = has_two ? 0.5 : 1;
    for (const size_t block : {hole.before, hole.after}) {
      if (block == kNoBlock) continue;
      shares[block].bytes += part * static_cast<double>(hole.range.bytes());
      shares[block].resident_bytes += part * static_cast<double>(hole.resident_bytes);
    }
  }
  return shares;
}

}  // namespace

std::vector<HeapSite> heap_by_site(const HeapPicture& picture, std::span<const Hole> holes,
                                   const CallSites& calls) {
  std::vector<Sums> sums(calls.sites().list().size());
  const auto site_of = [&](size_t block) { return calls.of_call(picture.blocks[block].birth); };
  const auto weight_of = [&](size_t block) { return calls.weight_of(picture.blocks[block].birth); };
  for (size_t i = 0; i < picture.blocks.size(); ++i) {
    sums[site_of(i)].add(picture.blocks[i], weight_of(i));
  }
  for (const Hole& hole : holes) {
    if (hole.is_open()) {
      for (const size_t block : {hole.before, hole.after}) {
        if (block != kNoBlock) sums[site_of(block)].add(hole, weight_of(block));
      }
      continue;
    }
    const uint32_t after = site_of(hole.after);
    const bool has_two = hole.before != kNoBlock;
    // With sampled stacks, the two may or may not be of one site.
    const double part = has_two && calls.is_sampled() ? 0.5 : 1;
    sums[after].add(hole, part * weight_of(hole.after));
    if (!has_two) continue;
    const uint32_t before = site_of(hole.before);
    if (before != after || calls.is_sampled()) {
      sums[before].add(hole, part * weight_of(hole.before));
    }
  }
  if (calls.is_sampled()) {
    const std::vector<HoleShare> shares = hole_shares(picture, holes);
    for (size_t i = 0; i < shares.size(); ++i) {
      if (weight_of(i) > 1)
        sums[site_of(i)].add_variance(picture.blocks[i], shares[i], weight_of(i));
    }
  }
  std::vector<HeapSite> by_site;
  for (uint32_t site = 0; site < sums.size(); ++site) by_site.push_back(sums[site].rounded(site));
  return by_site;
}

std::vector<HeapSite> heap_sites(const HeapPicture& picture, std::span<const Hole> holes,
                                 const CallSites& calls) {
  std::vector<HeapSite> held = heap_by_site(picture, holes, calls);
  std::erase_if(held, [&calls](const HeapSite& site) {
    return site.blocks == 0 || !calls.sites().list()[site.site].is_shown;
  });
  std::ranges::stable_sort(held, std::greater(), &HeapSite::held_bytes);
  return held;
}

HeapOfSites heap_of_sites(const schema::TapeHeader& tape, const Explanation& explanation,
                          const CallSites& calls) {
  const HeapPicture& picture = *explanation.run.picture;
  const allocators::BackendSpec& spec = explanation.run.spec;
  const std::vector<Hole> holes = find_holes(picture);
  HeapOfSites heap{.label = spec.label,
                   .backend = spec.text,
                   .moment = explanation.moment,
                   .by_site = heap_by_site(picture, holes, calls)};
  for (const std::string& variable : spec.environment) heap.backend += " " + variable;
  // RecordedBackend only knows the sizes of glibc's chunks.
  heap.knows_slack =
      spec.kind != allocators::BackendKind::kRecorded || tape.allocator_family() == "glibc";
  heap.knows_pinned = explanation.run.metrics.known_resident != KnownResident::kSum;
  Sums total;
  for (const LiveBlock& block : picture.blocks) total.add(block, 1);
  for (const Hole& hole : holes) total.add(hole, 1);
  heap.total = total.rounded(Sites::kNone);
  return heap;
}

// If several have as many, picks the first on the tape.
SiteOfGroup site_of_group(const HeapPicture& picture, const PinGroup& group,
                          const CallSites& calls) {
  struct Sum {
    double weight = 0;
    uint64_t blocks = 0;
  };
  std::map<uint32_t, Sum> sums;  // by site
  for (const size_t block : group.blocks) {
    const uint64_t call = picture.blocks[block].birth;
    if (calls.weight_of(call) == 0) continue;
    Sum& sum = sums[calls.of_call(call)];
    sum.weight += calls.weight_of(call);
    ++sum.blocks;
  }
  const auto most =
      std::ranges::max_element(sums, {}, [](const auto& of_site) { return of_site.second.weight; });
  if (most == sums.end()) return {};
  return {most->first, most->second.blocks};
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
