#include "replayer/sites/sites.h"

#include <map>
#include <string_view>
#include <tuple>

#include "replayer/sites/site_names.h"
#include "replayer/sites/wrappers.h"

namespace heaptape::replayer {
namespace {

bool has_name(const CodePlace& place) {
  return !place.source.empty() && !place.source.front().function.empty();
}

// By frame number: whether its function has no name, and its caller is an allocation function or
// another shim in the same module. Callers have smaller numbers, so their results are known when
// needed.
std::vector<bool> unnamed_shims(const schema::Stacks& stacks, const Symbols& symbols) {
  std::vector<bool> shims(stacks.limit());
  for (schema::FrameNumber number = 1; number < stacks.limit(); ++number) {
    const schema::Frame* const frame = stacks.find(number);
    if (frame == nullptr || frame->caller == 0) continue;
    const CodePlace& place = symbols.find(number);
    const CodePlace& caller = symbols.find(frame->caller);
    if (place.module.empty() || place.module != caller.module || has_name(place)) continue;
    shims[number] = has_name(caller) ? is_allocation_function(caller.source.front())
                                     : static_cast<bool>(shims[frame->caller]);
  }
  return shims;
}

bool is_of_loader(const CodePlace& place) {
  const std::string module = last_part(place.module);
  return module.starts_with("ld-linux") || module.starts_with("ld-musl");
}

// By frame number: whether the dynamic loader called it, before main or when it opened a library,
// and it is in another module.
std::vector<bool> initialisers(const schema::Stacks& stacks, const Symbols& symbols) {
  std::vector<bool> loader;  // by place
  for (const CodePlace& place : symbols.places()) loader.push_back(is_of_loader(place));
  std::vector<bool> found(stacks.limit());
  for (schema::FrameNumber number = 1; number < stacks.limit(); ++number) {
    const schema::Frame* const frame = stacks.find(number);
    if (frame == nullptr || frame->caller == 0) continue;
    const uint32_t place = symbols.index_of(number);
    found[number] = loader[symbols.index_of(frame->caller)] && !loader[place] &&
                    !symbols.places()[place].module.empty();
  }
  return found;
}

constexpr uint32_t kUnset = UINT32_MAX;

// Numbers sites in order of first use.
class Numbering {
 public:
  Numbering(const Symbols& symbols, const SiteRules& rules, std::vector<Site>& list)
      : symbols_(symbols), rules_(rules), shown_(shown_places(symbols, rules)), list_(list) {
    own_.resize(shown_.size(), kUnset);
    first_.resize(shown_.size(), kUnset);
  }

  // The site that a frame at the place has by itself; kNone if the frame is passed over.
  uint32_t own_site(uint32_t place) { return site_at(place, shown_[place].site, own_); }
  // The same if the whole stack is passed over.
  uint32_t first_site(uint32_t place) {
    if (is_unknown(symbols_.places()[place])) return Sites::kNone;
    return site_at(place, 0, first_);
  }
  // The user hides all of it.
  bool hides(uint32_t place) const { return shown_[place].lines.empty(); }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, uint64_t>;

  uint32_t site_at(uint32_t place, uint32_t line, std::vector<uint32_t>& known) {
    if (known[place] == kUnset) {
      const std::vector<uint32_t>& lines = shown_[place].lines;
      known[place] = line < lines.size() ? number_of(place, lines[line]) : Sites::kNone;
    }
    return known[place];
  }
  uint32_t number_of(uint32_t index, uint32_t line) {
    const CodePlace& place = symbols_.places()[index];
    const SourceFrame* const source = source_line(place, line);
    const bool has_name = source != nullptr && !source->function.empty();
    const Key key = has_name ? Key(place.module, source->function, source->file, source->line)
                             : Key(place.module, "", "", place.offset);
    const auto [it, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(list_.size()));
    if (is_new) list_.push_back({&place, source, rules_.shows(place, source)});
    return it->second;
  }

  const Symbols& symbols_;
  const SiteRules& rules_;
  std::vector<ShownPlace> shown_;
  std::vector<Site>& list_;
  std::map<Key, uint32_t> numbers_;
  std::vector<uint32_t> own_;    // by place
  std::vector<uint32_t> first_;  // by place
};

}  // namespace

// Callers have smaller numbers, so their sites are known when needed.
Sites::Sites(const schema::Stacks& stacks, const Symbols& symbols, const SiteRules& rules) {
  list_.push_back({nullptr, nullptr, rules.shows(kNoStack)});
  Numbering numbering(symbols, rules, list_);
  const schema::FrameNumber limit = stacks.limit();
  shims_ = unnamed_shims(stacks, symbols);
  initialisers_ = initialisers(stacks, symbols);
  by_stack_.resize(limit, kNone);
  std::vector<uint32_t> last_resort(limit, kNone);  // by stack: the site if all is passed over
  std::vector<bool> has_site(limit, false);
  std::vector<bool> hides(limit, false);  // by stack: some of its frames
  for (schema::FrameNumber number = 1; number < limit; ++number) {
    const schema::Frame* const frame = stacks.find(number);
    if (frame == nullptr) continue;
    const uint32_t place = symbols.index_of(number);
    const uint32_t first = numbering.first_site(place);
    uint32_t own = shims_[number] ? kNone : numbering.own_site(place);
    if (own == kNone && initialisers_[number]) {
      own = first;
      if (first != kNone) list_[first].is_initialiser = true;
    }
    last_resort[number] = first != kNone ? first : last_resort[frame->caller];
    has_site[number] = own != kNone || has_site[frame->caller];
    hides[number] = numbering.hides(place) || hides[frame->caller];
    if (own != kNone) {
      by_stack_[number] = own;
    } else {
      by_stack_[number] = has_site[number] ? by_stack_[frame->caller] : last_resort[number];
    }
  }
  add_hidden(hides, rules);
  short_texts_ = site_names(list_);
  for (uint32_t site = 0; site < list_.size(); ++site) {
    if (list_[site].place == nullptr) short_texts_[site] = text(site);
  }
}

void Sites::add_hidden(const std::vector<bool>& hides, const SiteRules& rules) {
  const auto hidden = static_cast<uint32_t>(list_.size());
  for (schema::FrameNumber number = 1; number < hides.size(); ++number) {
    if (by_stack_[number] != kNone || !hides[number]) continue;
    by_stack_[number] = hidden;
    if (list_.size() == hidden)
      list_.push_back({nullptr, nullptr, rules.shows(kHiddenStack), true});
  }
}

std::string Sites::text(uint32_t site) const {
  const Site& one = list_[site];
  if (one.place == nullptr) return one.is_hidden ? kHiddenStack : kNoStack;
  return frame_text(*one.place, one.source) + initialiser_text(one);
}

}  // namespace heaptape::replayer
