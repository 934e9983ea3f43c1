// The blocks and holes of a heap over time that are large enough to be named in a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/address/address_range.h"

namespace heaptape::replayer {

// A block, or a hole, from the first frame that has it to the last. A hole with changed bounds is
// another hole.
struct FilmItem {
  base::AddressRange range;      // a block's usable bytes
  uint64_t birth = 0;            // of the block, number of the call from 1; 0: it is a hole
  uint64_t requested_bytes = 0;  // of the block
  uint64_t first_at = 0;         // calls made at the first frame
  uint64_t last_at = 0;
};

// If there are too many items, those with the fewest bytes times calls are dropped, half of all at
// a time; a dropped item may come back. One thread.
class FilmItems {
 public:
  // `most`: at least 1.
  explicit FilmItems(size_t most) : most_(most) {}

  void begin_frame(uint64_t at);
  // Each once in a frame.
  void note_hole(base::AddressRange range) { note({range, 0, 0, at_, at_}); }
  void note_block(base::AddressRange range, uint64_t birth, uint64_t requested_bytes) {
    note({range, birth, requested_bytes, at_, at_});
  }

  // At most `most` items, those with most bytes times calls first.
  std::vector<FilmItem> list() const;

 private:
  struct Key {
    base::AddressRange range;
    uint64_t birth;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  void note(const FilmItem& item);
  void drop_half();

  size_t most_;
  uint64_t at_ = 0;
  uint64_t at_before_ = 0;  // of the previous frame
  std::vector<FilmItem> items_;
  std::unordered_map<Key, size_t, Hash> open_;  // those in the last frames
};

}  // namespace heaptape::replayer
