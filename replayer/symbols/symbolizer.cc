#include "replayer/symbols/symbolizer.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/display_text.h"
#include "replayer/symbols/frame_code.h"
#include "replayer/symbols/made_function.h"
#include "replayer/symbols/module_reader.h"

namespace heaptape::replayer {
namespace {

using base::quoted;

constexpr const char* kOffsetsOnly = "; its code is shown as offsets";

// Empty if there is nothing to say.
std::string note_of(const std::string& path, ModuleFinding finding) {
  switch (finding) {
    case ModuleFinding::kLines:
    case ModuleFinding::kFunctions:  // reported in one sentence with others
    case ModuleFinding::kNothing:
      return "";
    case ModuleFinding::kGone:
      return quoted(path) + " no longer exists" + kOffsetsOnly;
    case ModuleFinding::kUnreadable:
      return quoted(path) + " cannot be read as an ELF file" + kOffsetsOnly;
    case ModuleFinding::kOtherBuild:
      return quoted(path) + " is not the file that was recorded: their build-ids differ" +
             kOffsetsOnly;
  }
  return "";
}

bool has_symbols(ModuleFinding finding) {
  return finding == ModuleFinding::kLines || finding == ModuleFinding::kFunctions;
}

// "'a', 'b', 'c' and 4 more (WHAT)"; empty if there are none.
std::string list_text(const std::vector<std::string>& paths, const char* what) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, paths.size()); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(paths[i]);
  }
  if (paths.size() > kNamed) text += " and " + std::to_string(paths.size() - kNamed) + " more";
  return paths.empty() ? "" : text + " (" + what + ")";
}

bool has_line(const CodePlace& place) {
  return std::ranges::any_of(place.source,
                             [](const SourceFrame& source) { return source.line != 0; });
}

// Numbers of spots by module, each ascending by offset.
std::vector<std::vector<uint32_t>> spots_by_module(const FrameCode& code) {
  std::vector<std::vector<uint32_t>> by_module(code.modules.size());
  for (uint32_t i = 0; i < code.spots.size(); ++i) {
    const uint32_t module = code.spots[i].module;
    if (module != CodeSpot::kNoModule) by_module[module].push_back(i);
  }
  for (std::vector<uint32_t>& spots : by_module) {
    std::ranges::sort(spots, {}, [&](uint32_t spot) { return code.spots[spot].offset; });
  }
  return by_module;
}

class Symbolizer {
 public:
  Symbolizer(FrameCode code, const SymbolOptions& options, const Symbols* known)
      : code_(std::move(code)), options_(options), known_(code_.spots.size()) {
    const size_t frames = known == nullptr ? 0 : known->limit();
    for (size_t frame = 1; frame < std::min(frames, code_.spot_of_frame.size()); ++frame) {
      known_[code_.spot_of_frame[frame]] = &known->find(static_cast<schema::FrameNumber>(frame));
    }
    for (const CodeSpot& spot : code_.spots) {
      const bool is_known = spot.module != CodeSpot::kNoModule;
      places_.push_back({is_known ? code_.modules[spot.module].path : "", spot.offset, {}});
    }
  }

  SymbolizedTape run() {
    const auto by_module = spots_by_module(code_);
    for (size_t i = 0; i < by_module.size(); ++i) {
      const CodeModule& module = code_.modules[i];
      // Others are not files: [vdso], [heap].
      const bool is_file = module.path.starts_with('/');
      if (!module.function.empty()) {
        name(module, by_module[i]);
      } else if (is_file && !by_module[i].empty()) {
        if (options_.reads_files) {
          read(module, by_module[i]);
        } else {
          fill_in(by_module[i]);
        }
      }
    }
    note_without_debug_information();
    return {Symbols(std::move(places_), std::move(code_.spot_of_frame)), std::move(notes_)};
  }

 private:
  void name(const CodeModule& module, const std::vector<uint32_t>& spots) {
    for (const uint32_t spot : spots) places_[spot].source = {made_function(module.function)};
  }

  void read(const CodeModule& module, const std::vector<uint32_t>& spots) {
    std::vector<uint64_t> offsets;
    for (const uint32_t spot : spots) offsets.push_back(code_.spots[spot].offset);
    base::Result<ModuleAnswer> answer = read_module_apart(module, offsets, options_);
    if (!answer && !fill_in(spots)) {
      notes_.push_back("the symbols of " + quoted(module.path) +
                       " cannot be read: " + answer.error().message + kOffsetsOnly);
    }
    if (!answer) return;
    for (size_t i = 0; i < spots.size(); ++i) places_[spots[i]] = std::move(answer->places[i]);
    note_finding(module, fill_in(spots).value_or(answer->finding));
    if (has_symbols(answer->finding) && may_be_another_build(module)) {
      notes_.push_back(quoted(module.path) +
                       " has no build-id, and was changed after it was recorded: its functions and "
                       "lines may be those of another build");
    }
  }

  // Adds what is known from elsewhere. Returns the new finding if all places now have functions.
  std::optional<ModuleFinding> fill_in(const std::vector<uint32_t>& spots) {
    bool is_filled = false;
    bool has_functions = true;
    bool has_lines = false;
    for (const uint32_t spot : spots) {
      CodePlace& place = places_[spot];
      const CodePlace* const known = known_[spot];
      if (known != nullptr && known->module == place.module && !has_line(place) &&
          (place.source.empty() || has_line(*known))) {
        place = *known;
        is_filled = true;
      }
      has_functions = has_functions && !place.source.empty();
      has_lines = has_lines || has_line(place);
    }
    if (!is_filled || !has_functions) return std::nullopt;
    return has_lines ? ModuleFinding::kLines : ModuleFinding::kFunctions;
  }

  void note_finding(const CodeModule& module, ModuleFinding finding) {
    if (finding == ModuleFinding::kFunctions) without_lines_.push_back(module.path);
    if (finding == ModuleFinding::kNothing) without_functions_.push_back(module.path);
    std::string note = note_of(module.path, finding);
    if (!note.empty()) notes_.push_back(std::move(note));
  }

  void note_without_debug_information() {
    std::string text = list_text(without_lines_, "functions have names, but no lines");
    const std::string others = list_text(without_functions_, "code is shown as offsets");
    if (text.empty() && others.empty()) return;
    text += (text.empty() || others.empty() ? "" : ", and for ") + others;
    text = "there is no debug information for " + text +
           ": install its -dbgsym or -debuginfo packages, build your own programs with -g, " +
           (options_.debuginfod ? "or name" : "name") + " a directory that has it with --debug-dir";
    if (!options_.debuginfod) text += ", or ask servers for it with --debuginfod";
    notes_.insert(notes_.begin(), std::move(text));
  }

  bool may_be_another_build(const CodeModule& module) const {
    struct stat file;
    if (!module.build_id.empty() || options_.recorded_until_unix_ns == 0) return false;
    if (stat(module.path.c_str(), &file) != 0 || file.st_mtim.tv_sec < 0) return false;
    const uint64_t limit_s = options_.recorded_until_unix_ns / 1'000'000'000;
    return static_cast<uint64_t>(file.st_mtim.tv_sec) > limit_s;
  }

  FrameCode code_;
  const SymbolOptions& options_;
  std::vector<CodePlace> places_;
  std::vector<const CodePlace*> known_;  // by spot; null if unknown
  std::vector<std::string> notes_;
  std::vector<std::string> without_lines_;  // paths of modules, like these
  std::vector<std::string> without_functions_;
};

}  // namespace

SymbolizedTape symbolize(const schema::Stacks& stacks, const SymbolOptions& options,
                         const Symbols* known) {
  return Symbolizer(locate_frames(stacks), options, known).run();
}

}  // namespace heaptape::replayer
