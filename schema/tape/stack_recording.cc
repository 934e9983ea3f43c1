#include "schema/tape/stack_recording.h"

#include <algorithm>

#include "base/number_text.h"

namespace heaptape::schema {
namespace {

// "512KiB" for 524,288: exact, as an option takes it.
std::string option_bytes(uint64_t bytes) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  constexpr uint64_t kKiB = uint64_t{1} << 10;
  if (bytes != 0 && bytes % kMiB == 0) return std::to_string(bytes / kMiB) + "MiB";
  if (bytes != 0 && bytes % kKiB == 0) return std::to_string(bytes / kKiB) + "KiB";
  return std::to_string(bytes);
}

std::string option_sizes(const std::vector<SizeRange>& sizes) {
  std::string text;
  for (const SizeRange& range : sizes) {
    if (!text.empty()) text += "+";
    text += std::to_string(range.least);
    if (range.most != range.least) text += "-" + std::to_string(range.most);
  }
  return text;
}

}  // namespace

bool StackRecording::has(uint64_t bytes) const {
  const uint64_t asked = std::max<uint64_t>(bytes, 1);
  return std::ranges::any_of(sizes, [asked](const SizeRange& range) { return range.has(asked); });
}

std::string sizes_text(const std::vector<SizeRange>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) text += i + 1 == sizes.size() ? " or " : ", ";
    text += base::grouped(sizes[i].least);
    if (sizes[i].most != sizes[i].least) text += " to " + base::grouped(sizes[i].most);
  }
  return text + (text == "1" ? " byte" : " bytes");
}

std::string stacks_option(const StackRecording& recording) {
  std::string text = recording.mode == StackMode::kFramePointers ? "fp" : "dwarf";
  if (recording.depth != 0 && recording.depth != kUsualStackFrames) {
    text += ",depth=" + std::to_string(recording.depth);
  }
  if (recording.every_bytes != 0) text += ",every=" + option_bytes(recording.every_bytes);
  if (!recording.sizes.empty()) text += ",size=" + option_sizes(recording.sizes);
  return text;
}

}  // namespace heaptape::schema
