
#include <algorithm>
#include <map>

#include "base/display_text.h"
#include "replayer/export/stack_formats.h"

namespace heaptape::replayer {
namespace {

using base::json_string;

struct Profile {
  StackValue value;
  const char* name;
  const char* unit;
};
constexpr Profile kProfiles[] = {{StackValue::kPeak, "bytes at peak", "bytes"},
                                 {StackValue::kEnd, "bytes at end", "bytes"},
                                 {StackValue::kBytes, "bytes requested", "bytes"},
                                 {StackValue::kCalls, "calls", "none"},
                                 {StackValue::kTemporaries, "temporaries", "none"},
                                 {StackValue::kMapped, "bytes mapped", "bytes"}};

// Each frame once, as JSON, with its number.
class Frames {
 public:
  explicit Frames(const ShownStacks& stacks) {
    for (const ShownStack& stack : stacks.list()) samples_.push_back(sample_of(stacks, stack));
  }

  // By stack: a list of numbers, the outermost frame first.
  const std::vector<std::string>& samples() const { return samples_; }
  const std::string& list() const { return list_; }

 private:
  std::string sample_of(const ShownStacks& stacks, const ShownStack& stack) {
    std::vector<size_t> numbers;
    for (const ShownFrame frame : stacks.frames_of(stack)) {
      stacks.for_each_line(frame, [&](const CodePlace& place, const SourceFrame* source) {
        numbers.push_back(number_of(frame_json(frame_name(place, source), source)));
      });
    }
    if (numbers.empty()) {
      numbers.push_back(number_of(frame_json(stacks.name_without_frames(stack), nullptr)));
    }
    std::string sample;
    std::ranges::reverse(numbers);
    for (const size_t number : numbers) {
      sample += (sample.empty() ? "[" : ",") + std::to_string(number);
    }
    return sample + "]";
  }
  static std::string frame_json(const std::string& name, const SourceFrame* source) {
    std::string text = "{\"name\":" + json_string(name);
    if (source != nullptr && !source->file.empty()) {
      text += ",\"file\":" + json_string(source->file);
      if (source->line != 0) text += ",\"line\":" + std::to_string(source->line);
    }
    return text + "}";
  }
  size_t number_of(const std::string& frame) {
    const auto [it, is_new] = numbers_.try_emplace(frame, numbers_.size());
    if (is_new) list_ += (list_.empty() ? "\n" : ",\n") + frame;
    return it->second;
  }

  std::map<std::string, size_t> numbers_;  // by JSON
  std::string list_;
  std::vector<std::string> samples_;
};

std::string profile_json(const ShownStacks& stacks, const Frames& frames, const Profile& profile) {
  std::string samples;
  std::string weights;
  uint64_t sum = 0;
  for (size_t i = 0; i < stacks.list().size(); ++i) {
    const uint64_t weight = value_of(stacks.list()[i].totals, profile.value);
    if (weight == 0) continue;
    const char* const separator = samples.empty() ? "" : ",";
    samples += separator + frames.samples()[i];
    weights += separator + std::to_string(weight);
    sum += weight;
  }
  return std::string("{\"type\":\"sampled\",\"name\":\"") + profile.name + "\",\"unit\":\"" +
         profile.unit + "\",\"startValue\":0,\"endValue\":" + std::to_string(sum) +
         ",\n\"samples\":[" + samples + "],\n\"weights\":[" + weights + "]}";
}

}  // namespace

std::string speedscope_json(const ShownStacks& stacks, StackValue shown, const std::string& name) {
  const Frames frames(stacks);
  std::string profiles;
  size_t active = 0;
  for (const Profile& profile : kProfiles) {
    if (profile.value == shown) active = static_cast<size_t>(&profile - kProfiles);
    profiles += (profiles.empty() ? "\n" : ",\n") + profile_json(stacks, frames, profile);
  }
  return "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
         "\"exporter\":\"heaptape\",\"name\":" +
         json_string(name) + ",\"activeProfileIndex\":" + std::to_string(active) +
         ",\n\"shared\":{\"frames\":[" + frames.list() + "]},\n\"profiles\":[" + profiles + "]}\n";
}

}  // namespace heaptape::replayer
