// Frames as people read them. All of these are fit to print.
#pragma once

#include <string>

#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// What the site of a stack is called of which nothing is known.
inline constexpr const char* kNoStack = "(no stack)";
// What it is called if the user wants to see none of its frames.
inline constexpr const char* kHiddenStack = "(hidden)";

// `source` is one of the place's, or null where its source is not known.

// The function, or where its name is not known "libfoo.so+0x1a2b"; code of no module is "0x7f12",
// and where a stack was cut it has "(cut: REASON)", as schema::StackEnd says.
std::string frame_name(const CodePlace& place, const SourceFrame* source);

// The same with the line: "parse(char const*) (parser.cc:12)". `path`: the file as the program was
// built from it, or the last part of its name only.
enum class FilePath : uint8_t { kLastPart, kWhole };
std::string frame_text(const CodePlace& place, const SourceFrame* source,
                       FilePath path = FilePath::kLastPart);

// The same for tables, where there is little room: with the function's short_name.
std::string short_frame_text(const CodePlace& place, const SourceFrame* source);

// "libfoo.so" of "/usr/lib/libfoo.so".
std::string last_part(const std::string& path);

}  // namespace heaptape::replayer
