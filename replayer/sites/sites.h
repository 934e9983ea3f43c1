// The site of each stack of a tape: the code that asked for the block. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/sites/frame_text.h"
#include "replayer/sites/shown_places.h"
#include "replayer/sites/site_rules.h"
#include "replayer/symbols/symbols.h"
#include "schema/tape/stack.h"

namespace heaptape::replayer {

// A source line, or a place in a module if that is not known.
struct Site {
  const CodePlace* place = nullptr;     // null: unknown or hidden
  const SourceFrame* source = nullptr;  // one of the place's; null: unknown
  bool is_shown = true;                 // the user wants to see it
  bool is_hidden = false;               // all frames of its stacks are hidden
  bool is_initialiser = false;          // the loader called it; the frames below are passed over
};

// The site of a stack is its innermost frame that the rules do not pass over. If they pass over
// all, it is an initializer, or else the innermost frame that is not hidden. If all are hidden, it
// is a site without a place; if nothing is known, kNone.
// Frames of the same function at the same line of the same file are one site.
class Sites {
 public:
  static constexpr uint32_t kNone = 0;

  // Points into `symbols`, which must have all frames of `stacks` and outlive this.
  Sites(const schema::Stacks& stacks, const Symbols& symbols, const SiteRules& rules);

  // kNone for a number that no stack has.
  uint32_t of_stack(schema::FrameNumber stack) const {
    return stack < by_stack_.size() ? by_stack_[stack] : kNone;
  }
  const std::vector<uint32_t>& by_stack() const { return by_stack_; }
  // By number. The first is kNone.
  const std::vector<Site>& list() const { return list_; }
  // For a frame: a function without a name inside an allocation function; one that the loader calls
  // before main, or when it opens a library.
  bool is_shim(schema::FrameNumber frame) const { return shims_[frame]; }
  bool is_initialiser(schema::FrameNumber frame) const { return initialisers_[frame]; }
  // The frame_text(), with a remark on an initializer whose function is not known; kNoStack for
  // kNone, kHiddenStack for the hidden site. Fit to print.
  std::string text(uint32_t site) const;
  // The same for tables, from site_names().
  const std::string& short_text(uint32_t site) const { return short_texts_[site]; }

 private:
  // `hides`: by stack, whether the user hides some of its frames.
  void add_hidden(const std::vector<bool>& hides, const SiteRules& rules);

  std::vector<uint32_t> by_stack_;
  std::vector<bool> shims_;  // by frame number, as is the next
  std::vector<bool> initialisers_;
  std::vector<Site> list_;
  std::vector<std::string> short_texts_;
};

}  // namespace heaptape::replayer
