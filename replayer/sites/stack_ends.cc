#include "replayer/sites/stack_ends.h"

#include <numeric>
#include <vector>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using schema::FrameNumber;
using schema::StackEnd;

constexpr uint8_t kWhole = schema::kStackEnds;

// By frame: a StackEnd, or kWhole.
std::vector<uint8_t> ends_of_frames(const schema::Stacks& stacks) {
  std::vector<uint8_t> ends(stacks.limit(), static_cast<uint8_t>(StackEnd::kUnknown));
  for (FrameNumber number = 1; number < stacks.limit(); ++number) {
    const schema::Frame* const frame = stacks.find(number);
    if (frame == nullptr) continue;
    const bool is_mark = frame->return_address < schema::kStackEnds;
    ends[number] = frame->caller != 0 ? ends[frame->caller]
                   : is_mark          ? static_cast<uint8_t>(frame->return_address)
                                      : kWhole;
  }
  return ends;
}

// By frame: whether the walk outward from there guessed.
std::vector<bool> guesses_of_frames(const schema::Stacks& stacks) {
  std::vector<bool> guesses(stacks.limit());
  for (FrameNumber number = 1; number < stacks.limit(); ++number) {
    const schema::Frame* const frame = stacks.find(number);
    guesses[number] = frame != nullptr && (frame->guesses || guesses[frame->caller]);
  }
  return guesses;
}

const char* words_of(StackEnd end) {
  switch (end) {
    case StackEnd::kUnknown:
      break;
    case StackEnd::kDepth:
      return "too deep";
    case StackEnd::kUnknownCode:
      return "cut at code of an unknown file";
    case StackEnd::kNoRule:
      return "cut at code without unwind rule";
    case StackEnd::kUnreadable:
      return "cut where there was no stack (no frame pointers?)";
    case StackEnd::kNoCode:
      return "cut where there was no return address";
  }
  return "cut";
}

}  // namespace

StackEnds count_stack_ends(const schema::Stacks& stacks, const StackProfile& profile) {
  const std::vector<uint8_t> ends = ends_of_frames(stacks);
  const std::vector<bool> guesses = guesses_of_frames(stacks);
  StackEnds counted;
  profile.for_each([&](FrameNumber stack, const StackTotals& totals) {
    if (stack < guesses.size() && guesses[stack]) counted.guessed += totals.calls;
    if (stack == 0 || stack >= ends.size()) {
      counted.none += totals.calls;
    } else if (ends[stack] == kWhole) {
      counted.whole += totals.calls;
    } else {
      counted.cut[ends[stack]] += totals.calls;
    }
  });
  return counted;
}

std::string stack_ends_text(const StackEnds& ends) {
  const uint64_t cut = std::accumulate(ends.cut.begin(), ends.cut.end(), uint64_t{0});
  const uint64_t all = ends.whole + ends.none + cut;
  const auto share = [all](uint64_t calls) {
    const double percent = 100 * static_cast<double>(calls) / static_cast<double>(all);
    if (calls != 0 && percent < 0.05) return std::string("<0.1%");
    if (calls != all && percent >= 99.95) return std::string(">99.9%");
    return base::format_text("%.1f%%", percent);
  };
  if (all == 0) return "";
  std::string text = "stacks: " + share(ends.whole) + " of calls whole";
  for (size_t i = 0; i < ends.cut.size(); ++i) {
    if (ends.cut[i] == 0) continue;
    text += ", " + share(ends.cut[i]) + " " + words_of(static_cast<StackEnd>(i));
  }
  if (ends.none != 0) text += ", " + share(ends.none) + " without a stack";
  if (ends.guessed != 0) text += "; " + share(ends.guessed) + " in part by frame pointers alone";
  return text + "\n";
}

}  // namespace heaptape::replayer
