// The files of page/, and what they need, as the build put them into the program: see
// embed_page.cmake.
#pragma once

#include <span>
#include <string_view>

namespace heaptape::replayer {

struct PagePart {
  std::string_view name;  // of its file
  std::string_view text;
  std::string_view sha256;  // in base 64, as a policy has it
};

// In the order in which they belong on the page.
std::span<const PagePart> page_styles();
std::span<const PagePart> page_scripts();
std::string_view page_markup();
// Comments: whose code there is, and on which terms.
std::string_view page_notices();

}  // namespace heaptape::replayer
