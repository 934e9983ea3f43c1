#include "replayer/report/pin_callers.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using base::grouped;

using Counts = std::map<uint64_t, uint64_t>;

// How many live blocks of a size each site asked for, of those whose stacks are on the tape.
std::map<uint64_t, Counts> sampled_by_size(const HeapPicture& picture,
                                           std::span<const PinGroup> groups,
                                           const CallSites& calls) {
  std::map<uint64_t, Counts> by_size;
  for (const PinGroup& group : groups) by_size[group.size_bytes];
  for (const LiveBlock& block : picture.blocks) {
    const auto counts = by_size.find(block.requested_bytes);
    if (counts == by_size.end() || calls.weight_of(block.birth) == 0) continue;
    ++counts->second[calls.of_call(block.birth)];
  }
  return by_size;
}

void set_like(PinCallers& callers, const Counts& sites) {
  constexpr size_t kMostNamed = 3;
  for (const auto& [site, blocks] : sites) {
    callers.sampled_like += blocks;
    callers.like.push_back({static_cast<uint32_t>(site), blocks});
  }
  std::ranges::stable_sort(callers.like, std::greater(), &SiteOfGroup::blocks);
  if (callers.like.size() > kMostNamed) callers.like.resize(kMostNamed);
}

// Looks at the calls that made the group's blocks.
void set_stacks(PinCallers& callers, const HeapPicture& picture, const PinGroup& group,
                const CallSites& calls) {
  Counts missing;  // by the size that was asked for
  for (const size_t block : group.blocks) {
    const uint64_t call = picture.blocks[block].birth;
    if (calls.weight_of(call) != 0) {
      ++callers.with_stack;
    } else if (const uint64_t asked = std::max<uint64_t>(calls.asked_by(call), 1);
               !calls.recording().is_complete(asked)) {
      ++missing[asked];
    }
  }
  callers.is_sampled = !missing.empty();
  if (missing.empty()) return;
  callers.advised_bytes =
      std::ranges::max_element(missing, {}, [](const auto& size) { return size.second; })->first;
}

}  // namespace

std::vector<PinCallers> pin_callers(const HeapPicture& picture, std::span<const PinGroup> groups,
                                    const CallSites& calls) {
  std::vector<PinCallers> list;
  for (const PinGroup& group : groups) list.push_back({site_of_group(picture, group, calls)});
  if (!calls.is_sampled()) return list;
  const auto by_size = sampled_by_size(picture, groups, calls);
  for (size_t i = 0; i < list.size(); ++i) {
    set_stacks(list[i], picture, groups[i], calls);
    if (list[i].is_sampled) set_like(list[i], by_size.at(groups[i].size_bytes));
  }
  return list;
}

std::string most_text(const PinCallers& callers, const PinGroup& group, const Sites& sites) {
  if (callers.most.blocks == 0) {
    return callers.is_sampled ? "no stack sampled" : std::string("for ") + kNoStack;
  }
  const std::string text = "for " + sites.short_text(callers.most.site);
  if (callers.is_sampled) {
    return text + ", " + grouped(callers.most.blocks) + " of the " +
           base::counted(callers.with_stack, "block") + " sampled";
  }
  if (callers.most.blocks == group.count) return text;
  return text + ", " + grouped(callers.most.blocks) + " of them";
}

std::string like_text(const PinCallers& callers, const PinGroup& group, const Sites& sites) {
  if (callers.sampled_like <= callers.with_stack) return "";
  std::string text = "of " + base::counted(callers.sampled_like, "sampled block") + " of " +
                     base::counted(group.size_bytes, "byte") + ", ";
  for (size_t i = 0; i < callers.like.size(); ++i) {
    const SiteOfGroup& site = callers.like[i];
    text += i == 0 ? "" : ", ";
    text += grouped(site.blocks);
    text += i != 0 ? " by " : site.blocks == 1 ? " was asked for by " : " were asked for by ";
    text += sites.short_text(site.site);
  }
  return text;
}

std::string stacks_to_record(std::span<const PinCallers> groups, const CallSites& calls) {
  schema::StackRecording recording = calls.recording();
  std::vector<schema::SizeRange>& sizes = recording.sizes;
  const size_t before = sizes.size();
  for (const PinCallers& callers : groups) {
    const uint64_t bytes = callers.advised_bytes;
    const bool is_known = std::ranges::any_of(
        sizes, [bytes](const schema::SizeRange& range) { return range.has(bytes); });
    if (bytes == 0 || is_known || sizes.size() >= schema::kMostSizeRanges) continue;
    sizes.push_back({bytes, bytes});
  }
  if (sizes.size() == before) return "";
  std::ranges::sort(sizes, {}, &schema::SizeRange::least);
  return schema::stacks_option(recording);
}

}  // namespace heaptape::replayer
