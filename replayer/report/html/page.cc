#include "replayer/report/html/page.h"

#include <string_view>

#include "base/check.h"
#include "base/display_text.h"
#include "replayer/report/html/page_parts.h"

namespace heaptape::replayer {
namespace {

std::string hashes(std::span<const PagePart> parts) {
  std::string text;
  for (const PagePart& part : parts) {
    text += " 'sha256-";
    text += part.sha256;
    text += "'";
  }
  return text;
}

std::string elements(std::span<const PagePart> parts, const std::string& tag) {
  std::string text;
  for (const PagePart& part : parts) {
    text += "<" + tag + ">";
    text += part.text;
    text += "</" + tag + ">\n";
  }
  return text;
}

// Each mark occurs once in the markup.
void put(std::string& page, std::string_view mark, std::string_view text) {
  const size_t at = page.find(mark);
  HEAPTAPE_CHECK(at != std::string::npos);
  page.replace(at, mark.size(), text);
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : base::display_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_page(const std::string& title, const std::string& data,
                      const std::string& content) {
  std::string page(page_markup());
  // Backwards: inserted text may look like a mark.
  put(page, "@SCRIPTS@", elements(page_scripts(), "script"));
  put(page, "@DATA@", data);
  put(page, "@CONTENT@", content);
  put(page, "@STYLES@", elements(page_styles(), "style"));
  put(page, "@TITLE@", html_text(title));
  put(page, "@POLICY@",
      "default-src 'none'; script-src" + hashes(page_scripts()) + "; style-src" +
          hashes(page_styles()) + "; base-uri 'none'; form-action 'none'");
  put(page, "@NOTICES@", page_notices());
  return page;
}

}  // namespace heaptape::replayer
