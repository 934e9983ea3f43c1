// Which frames, and which stacks, the user wants to see. docs/metrics.md, "Sites".
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// A regular expression typed by a user. Exceptions of std::regex are caught here.
class Pattern {
 public:
  // Uses ECMAScript syntax. Fails with kUsage and a sentence that quotes the text.
  static base::Result<Pattern> make(const std::string& text);

  // Whether it matches some part of the text. Looks only at the beginning of a long text: the time
  // and stack that std::regex needs are bounded only by its length.
  bool is_in(std::string_view text) const;

 private:
  explicit Pattern(std::regex regex) : regex_(std::move(regex)) {}

  std::regex regex_;
};

// Filters as the user typed them.
struct SiteFilters {
  std::vector<std::string> hide = {};  // regular expressions
  std::string only = {};               // "site~REGEX"; empty: all
};

class SiteRules {
 public:
  // The rules without filters.
  SiteRules() = default;
  // Fails with kUsage.
  static base::Result<SiteRules> make(const SiteFilters& filters);

  // In both of these, `source` is one of the place's, or null if not known.

  // Whether the user hides the frame: its function or its module matches.
  bool hides(const CodePlace& place, const SourceFrame* source) const;
  // Whether the user wants to see the stacks of this site: its short text, its text with parameters
  // or with the whole path of the file, or its module matches.
  bool shows(const CodePlace& place, const SourceFrame* source) const;
  // The same for a site that has no place, only a name.
  bool shows(const std::string& name) const;

 private:
  std::vector<Pattern> hide_;
  std::optional<Pattern> only_;
};

}  // namespace heaptape::replayer
