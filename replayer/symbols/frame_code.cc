#include "replayer/symbols/frame_code.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/address/address_map.h"

namespace heaptape::replayer {
namespace {

using schema::CodeMapping;
using schema::FrameNumber;

class FrameLocator {
 public:
  explicit FrameLocator(const schema::Stacks& stacks) : stacks_(stacks) {
    code_.spots.emplace_back();
    code_.spot_of_frame.resize(stacks.limit());
    add_modules();
  }

  FrameCode locate() {
    locate_by_earlier_mappings();
    locate_by_later_mappings();
    for (const FrameNumber frame : unlocated_) set_spot(frame, {.offset = address_of(frame)});
    return std::move(code_);
  }

 private:
  using Mappings = base::AddressMap<size_t>;  // values: indices

  void add_modules() {
    std::map<std::tuple<std::string, std::string, std::string>, uint32_t> known;
    for (const CodeMapping& mapping : stacks_.mappings()) {
      const auto [entry, is_new] =
          known.try_emplace({mapping.path, mapping.build_id, mapping.function},
                            static_cast<uint32_t>(code_.modules.size()));
      if (is_new) {
        code_.modules.push_back(
            {mapping.path, mapping.build_id, mapping.file_offset, mapping.function});
      }
      uint64_t& mapped_from = code_.modules[entry->second].mapped_from;
      mapped_from = std::min(mapped_from, mapping.file_offset);
      module_of_mapping_.push_back(entry->second);
    }
  }

  void locate_by_earlier_mappings() {
    const std::vector<CodeMapping>& mappings = stacks_.mappings();
    Mappings seen;
    size_t next = 0;
    for (FrameNumber frame = 1; frame < stacks_.limit(); ++frame) {
      for (; next < mappings.size() && mappings[next].frames < frame; ++next) {
        seen.assign(mappings[next].range, next);
      }
      const schema::Frame* const found = stacks_.find(frame);
      if (found == nullptr || found->return_address == 0) continue;
      if (!locate_in(seen, frame)) unlocated_.push_back(frame);
    }
  }

  // From the last frame to the first, so that the first mapping seen ends up on top.
  void locate_by_later_mappings() {
    const std::vector<CodeMapping>& mappings = stacks_.mappings();
    Mappings seen;
    size_t left = mappings.size();
    std::vector<FrameNumber> unlocated;
    for (auto it = unlocated_.rbegin(); it != unlocated_.rend(); ++it) {
      const FrameNumber frame = *it;
      for (; left > 0 && mappings[left - 1].frames >= frame; --left) {
        seen.assign(mappings[left - 1].range, left - 1);
      }
      if (!locate_in(seen, frame)) unlocated.push_back(frame);
    }
    unlocated_ = std::move(unlocated);
  }

  // The call is right before the return address, and may be the last thing in its mapping.
  bool locate_in(const Mappings& seen, FrameNumber frame) {
    const uint64_t call = address_of(frame) - 1;
    const size_t* const index = seen.find(call);
    if (index == nullptr) return false;
    const CodeMapping& mapping = stacks_.mappings()[*index];
    if (mapping.path.empty()) return false;
    set_spot(frame, {module_of_mapping_[*index], call - mapping.range.begin + mapping.file_offset});
    return true;
  }

  void set_spot(FrameNumber frame, CodeSpot spot) {
    const auto [known, is_new] =
        spots_[spot.module].try_emplace(spot.offset, static_cast<uint32_t>(code_.spots.size()));
    if (is_new) code_.spots.push_back(spot);
    code_.spot_of_frame[frame] = known->second;
  }

  uint64_t address_of(FrameNumber frame) const { return stacks_.find(frame)->return_address; }

  const schema::Stacks& stacks_;
  FrameCode code_;
  std::vector<uint32_t> module_of_mapping_;
  std::vector<FrameNumber> unlocated_;
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, uint32_t>> spots_;  // by module, offset
};

}  // namespace

FrameCode locate_frames(const schema::Stacks& stacks) {
  return FrameLocator(stacks).locate();
}

}  // namespace heaptape::replayer
