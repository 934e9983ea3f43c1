#include "cli/stacks_option.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "base/parameters.h"
#include "base/quantity.h"
#include "schema/tape/stack_recording.h"

namespace heaptape::cli {
namespace {

bool is_unwinding(const std::string& word) {
  return word == "fp" || word == "dwarf";
}

// `words` are the parts of --stacks after the method. Overriding an earlier part is usually a slip.
void refuse_twice(const std::vector<std::string>& words) {
  std::set<std::string> names;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (word == "none") {
      throw CLI::ValidationError("--stacks",
                                 "none cannot be combined: write --stacks none, or omit ',none'");
    }
    if (is_unwinding(word)) {
      throw CLI::ValidationError("--stacks", "it takes either fp or dwarf: omit '," + word + "'");
    }
    if (!names.insert(name).second) {
      throw CLI::ValidationError("--stacks", "'" + name + "' is given more than once" +
                                                 (name == "size" ? ": join sizes by '+'" : ""));
    }
  }
}

// "48", "1KiB-4KiB".
schema::SizeRange parse_range(const std::string& text) {
  const size_t dash = text.find('-');
  const auto least = base::parse_quantity(text.substr(0, dash));
  const auto most = dash == std::string::npos ? least : base::parse_quantity(text.substr(dash + 1));
  if (!least || !most) {
    throw CLI::ValidationError("--stacks", "'" + text +
                                               "' is no size: type size=48, size=1KiB-4KiB, or "
                                               "several joined by '+'");
  }
  if (*least == 0) {
    throw CLI::ValidationError(
        "--stacks", "'" + text + "' begins at 0: a call for no bytes counts as one for 1");
  }
  if (*least > *most) {
    throw CLI::ValidationError("--stacks", "'" + text + "' ends before it begins");
  }
  return {*least, *most};
}

// Parses "size=48+1KiB-4KiB", if it is there, and removes it from `words`.
std::vector<schema::SizeRange> take_sizes(std::vector<std::string>& words) {
  static constexpr std::string_view kName = "size=";
  std::vector<schema::SizeRange> sizes;
  const auto word = std::ranges::find_if(
      words, [](const std::string& one) { return one == "size" || one.starts_with(kName); });
  if (word == words.end()) return sizes;
  std::string list = word->substr(std::min(kName.size(), word->size()));
  words.erase(word);
  for (bool is_last = false; !is_last;) {
    const size_t plus = list.find('+');
    sizes.push_back(parse_range(list.substr(0, plus)));
    is_last = plus == std::string::npos;
    if (!is_last) list.erase(0, plus + 1);
  }
  if (sizes.size() > recorder::kMostStackSizes) {
    throw CLI::ValidationError("--stacks",
                               "size= takes at most " + std::to_string(recorder::kMostStackSizes) +
                                   " sizes and ranges: join neighbors to a range, such as 48-64");
  }
  return sizes;
}

}  // namespace

void set_stacks(const std::string& text, recorder::SessionOptions& options) {
  std::vector<std::string> words = base::split_sets(text);
  const std::string mode = words.empty() ? "" : words.front();
  if (text == "none") {
    options.stack_frames = 0;
    return;
  }
  if (!is_unwinding(mode)) {
    throw CLI::ValidationError(
        "--stacks",
        "'" + text + "' is not one of none|fp|dwarf[,depth=N][,every=BYTES][,size=SIZES]");
  }
  words.erase(words.begin());
  refuse_twice(words);
  options.stack_sizes = take_sizes(words);
  const auto values = base::parse_values(
      mode,
      {{"depth", schema::kUsualStackFrames, "frames", {}, 1, recorder::kMostStackFrames},
       {"every", 0, "bytes", {}, 0, recorder::kMostStackBytes},
       {"size", 0, "sizes"}},
      words);
  if (!values.ok()) throw CLI::ValidationError("--stacks", values.error().message);
  options.stack_frames = static_cast<uint32_t>((*values)["depth"]);
  options.stack_bytes = (*values)["every"];
  options.unwinding =
      mode == "fp" ? recorder::Unwinding::kFramePointers : recorder::Unwinding::kTables;
}

}  // namespace heaptape::cli
