// The site of each stack of a tape: who asked for the block. docs/metrics.md, "Sites".
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

// A line of the source, or a place in a module where that is not known.
struct Site {
  const CodePlace* place = nullptr;     // null: not known, or hidden
  const SourceFrame* source = nullptr;  // one of the place's; null: not known
  bool is_shown = true;                 // the user wants to see it
  bool is_hidden = false;               // of stacks of which the user wants to see no frame
  bool is_initialiser = false;          // the loader called it; what it called is passed over
};

// The site of a stack is its innermost frame that the rules do not pass over; where they pass over
// all, an initialiser or else the innermost that is not hidden. Where they hide all, one without a
// place; where nothing is known, kNone.
// Frames of the same function at the same line of the same file are one site.
class Sites {
 public:
  static constexpr uint32_t kNone = 0;

  // Keeps pointers into `symbols`, which must have all frames of `stacks`, and outlive this.
  Sites(const schema::Stacks& stacks, const Symbols& symbols, const SiteRules& rules);

  // kNone of a number that no stack has.
  uint32_t of_stack(schema::FrameNumber stack) const {
    return stack < by_stack_.size() ? by_stack_[stack] : kNone;
  }
  const std::vector<uint32_t>& by_stack() const { return by_stack_; }
  // By number. The first is kNone.
  const std::vector<Site>& list() const { return list_; }
  // Of a frame: as unnamed_shims() and initialisers() have it.
  bool is_shim(schema::FrameNumber frame) const { return shims_[frame]; }
  bool is_initialiser(schema::FrameNumber frame) const { return initialisers_[frame]; }
  // As frame_text has it, and that it is an initialiser where its function is not known; kNoStack
  // of kNone, kHiddenStack of those that are hidden. Fit to print.
  std::string text(uint32_t site) const;
  // The same for tables, as site_names has it.
  const std::string& short_text(uint32_t site) const { return short_texts_[site]; }

 private:
  // `hides`: by stack, whether the user does not want to see some of its frames.
  void add_hidden(const std::vector<bool>& hides, const SiteRules& rules);

  std::vector<uint32_t> by_stack_;
  std::vector<bool> shims_;  // by number of the frame, as are these
  std::vector<bool> initialisers_;
  std::vector<Site> list_;
  std::vector<std::string> short_texts_;
};

}  // namespace heaptape::replayer
