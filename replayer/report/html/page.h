// A page that is one file: markup, styles, scripts and data. docs/decisions/0024-html.md.
#pragma once

#include <string>

namespace heaptape::replayer {

// `title` is text of any kind. `data` is JSON as JsonWriter writes it; the scripts read it from an
// element that the browser does not run. The page's own policy lets the browser run the scripts of
// this build, which it knows by their hashes, and load nothing.
std::string html_page(const std::string& title, const std::string& data);

// `text` fit to stand in markup, also in quotes.
std::string html_text(const std::string& text);

}  // namespace heaptape::replayer
