// A page in one file: markup, styles, scripts and data. docs/decisions/0024-html.md.
#pragma once

#include <string>

namespace heaptape::replayer {

// `title` is any text. `data` is JSON from JsonWriter; the scripts read it from an element that the
// browser does not run. The page's own policy lets the browser run only the scripts of this build,
// known by their hashes, and load nothing.
// `content`: elements that are shown until the scripts have made theirs, and always without
// scripts.
std::string html_page(const std::string& title, const std::string& data,
                      const std::string& content);

// Escapes `text` for markup, also in quotes.
std::string html_text(const std::string& text);

}  // namespace heaptape::replayer
