#include "replayer/sites/frame_text.h"

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/sites/short_name.h"
#include "schema/tape/stack_end.h"

namespace heaptape::replayer {
namespace {

const char* cut_text(uint64_t stored) {
  switch (static_cast<schema::StackEnd>(stored)) {
    case schema::StackEnd::kUnknown:
      break;
    case schema::StackEnd::kDepth:
      return "(cut: too deep)";
    case schema::StackEnd::kUnknownCode:
      return "(cut: code of an unknown file)";
    case schema::StackEnd::kNoRule:
      return "(cut: no rule to unwind)";
    case schema::StackEnd::kUnreadable:
      return "(cut: no stack there)";
    case schema::StackEnd::kNoCode:
      return "(cut: no return address)";
  }
  return "(cut)";
}

}  // namespace

std::string last_part(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string frame_name(const CodePlace& place, const SourceFrame* source) {
  if (source != nullptr && !source->function.empty()) return base::display_text(source->function);
  if (place.module.empty() && place.offset < schema::kStackEnds) return cut_text(place.offset);
  std::string offset = base::format_text("0x%llx", static_cast<unsigned long long>(place.offset));
  if (place.module.empty()) return offset;
  return base::display_text(last_part(place.module)) + "+" + offset;
}

std::string frame_text(const CodePlace& place, const SourceFrame* source, FilePath path) {
  std::string name = frame_name(place, source);
  if (source == nullptr || source->file.empty()) return name;
  const std::string file = path == FilePath::kWhole ? source->file : last_part(source->file);
  const std::string line = source->line == 0 ? "" : ":" + std::to_string(source->line);
  return name + " (" + base::display_text(file) + line + ")";
}

std::string short_frame_text(const CodePlace& place, const SourceFrame* source) {
  // A run-time system need not name its functions as C++ does.
  if (source == nullptr || place.module == schema::kMadeCodePath) return frame_text(place, source);
  const SourceFrame shortened{short_name(source->function), source->file, source->line};
  return frame_text(place, &shortened);
}

}  // namespace heaptape::replayer
