// The files of page/ and their dependencies, as the build embeds them: see embed_page.cmake.
#pragma once

#include <span>
#include <string_view>

namespace heaptape::replayer {

struct PagePart {
  std::string_view name;  // of its file
  std::string_view text;
  std::string_view sha256;  // in base 64, as in a policy
};

// In page order.
std::span<const PagePart> page_styles();
std::span<const PagePart> page_scripts();
std::string_view page_markup();
// Comments: the authors of included code, and its terms.
std::string_view page_notices();

}  // namespace heaptape::replayer
