#include "replayer/symbols/symbolizer.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/display_text.h"
#include "replayer/symbols/frame_code.h"
#include "replayer/symbols/made_function.h"
#include "replayer/symbols/module_process.h"

namespace heaptape::replayer {
namespace {

using base::quoted;

constexpr const char* kOffsetsOnly = "; its code is shown as offsets";

// Empty: there is nothing to say.
std::string note_of(const std::string& path, ModuleFinding finding) {
  switch (finding) {
    case ModuleFinding::kLines:
      return "";
    case ModuleFinding::kFunctions:
      return quoted(path) +
             " has no debug information: its functions have names, but no lines; install its debug "
             "symbols, or name their folder with --debug-dir";
    case ModuleFinding::kNothing:
      return quoted(path) + " has no symbols" + kOffsetsOnly;
    case ModuleFinding::kGone:
      return quoted(path) + " is not there any more" + kOffsetsOnly;
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
  Symbolizer(FrameCode code, const SymbolOptions& options)
      : code_(std::move(code)), options_(options) {
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
        read(module, by_module[i]);
      }
    }
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
    if (!answer) {
      notes_.push_back("the symbols of " + quoted(module.path) +
                       " cannot be read: " + answer.error().message + kOffsetsOnly);
      return;
    }
    for (size_t i = 0; i < spots.size(); ++i) places_[spots[i]] = std::move(answer->places[i]);
    std::string note = note_of(module.path, answer->finding);
    if (!note.empty()) notes_.push_back(std::move(note));
    if (has_symbols(answer->finding) && may_be_another_build(module)) {
      notes_.push_back(quoted(module.path) +
                       " has no build-id, and was changed after it was recorded: its functions and "
                       "lines may be those of another build");
    }
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
  std::vector<std::string> notes_;
};

}  // namespace

SymbolizedTape symbolize(const schema::Stacks& stacks, const SymbolOptions& options) {
  return Symbolizer(locate_frames(stacks), options).run();
}

}  // namespace heaptape::replayer
