// Frames as people read them. All texts are fit to print.
#pragma once

#include <string>

#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// The name of the site of a stack that is unknown.
inline constexpr const char* kNoStack = "(no stack)";
// The name of the site of a stack whose frames are all hidden.
inline constexpr const char* kHiddenStack = "(hidden)";

// `source` is one of the place's, or null if its source is not known.

// The function, or "libfoo.so+0x1a2b" if its name is not known; "0x7f12" for code of no module;
// "(cut: REASON)" for the end of a cut stack, as in schema::StackEnd.
std::string frame_name(const CodePlace& place, const SourceFrame* source);

// The same with the line: "parse(char const*) (parser.cc:12)". `path`: the file's whole path as
// built, or only its last part.
enum class FilePath : uint8_t { kLastPart, kWhole };
std::string frame_text(const CodePlace& place, const SourceFrame* source,
                       FilePath path = FilePath::kLastPart);

// The same for narrow tables: with the function's short_name.
std::string short_frame_text(const CodePlace& place, const SourceFrame* source);

// "libfoo.so" for "/usr/lib/libfoo.so".
std::string last_part(const std::string& path);

}  // namespace heaptape::replayer
