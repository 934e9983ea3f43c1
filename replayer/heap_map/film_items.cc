#include "replayer/heap_map/film_items.h"

#include <algorithm>

namespace heaptape::replayer {
namespace {

// An item seen in only one frame still has its bytes.
double weight(const FilmItem& item) {
  return static_cast<double>(item.range.bytes()) *
         static_cast<double>(item.last_at - item.first_at + 1);
}

bool is_heavier(const FilmItem& a, const FilmItem& b) {
  if (weight(a) != weight(b)) return weight(a) > weight(b);
  if (a.range.begin != b.range.begin) return a.range.begin < b.range.begin;
  return a.first_at < b.first_at;
}

}  // namespace

size_t FilmItems::Hash::operator()(const Key& key) const {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  return ((key.range.begin * kOdd) ^ key.range.end ^ (key.birth << 20)) * kOdd >> 16;
}

void FilmItems::begin_frame(uint64_t at) {
  // A frame at the same call is the same frame.
  if (at == at_) return;
  std::erase_if(open_, [this](const auto& entry) { return items_[entry.second].last_at != at_; });
  at_before_ = at_;
  at_ = at;
}

void FilmItems::note(const FilmItem& item) {
  const Key key{item.range, item.birth};
  const auto [open, is_new] = open_.try_emplace(key, items_.size());
  if (!is_new && items_[open->second].last_at >= at_before_) {
    items_[open->second].last_at = at_;
    items_[open->second].requested_bytes = item.requested_bytes;
    return;
  }
  open->second = items_.size();
  items_.push_back(item);
  if (items_.size() >= 2 * most_) drop_half();
}

void FilmItems::drop_half() {
  std::ranges::nth_element(items_, items_.begin() + static_cast<long>(most_), is_heavier);
  items_.resize(most_);
  open_.clear();
  for (size_t i = 0; i < items_.size(); ++i) {
    const FilmItem& item = items_[i];
    if (item.last_at >= at_before_) open_[{item.range, item.birth}] = i;
  }
}

std::vector<FilmItem> FilmItems::list() const {
  std::vector<FilmItem> list = items_;
  std::ranges::sort(list, is_heavier);
  if (list.size() > most_) list.resize(most_);
  return list;
}

}  // namespace heaptape::replayer
