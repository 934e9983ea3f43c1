// Values by address range; a range may be assigned over others.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "base/address/address_range.h"

namespace heaptape::base {

// Each call is logarithmic in the number of pieces, plus the pieces that assign() removes.
template <typename Value>
class AddressMap {
 public:
  // Gives `range` this value instead of any earlier ones.
  void assign(AddressRange range, Value value) {
    if (range.begin >= range.end) return;
    split(range.begin);
    split(range.end);
    pieces_.erase(pieces_.lower_bound(range.begin), pieces_.lower_bound(range.end));
    pieces_.insert({range.begin, {range.end, value}});
  }

  // Null if it has none.
  const Value* find(uint64_t address) const {
    const auto behind = pieces_.upper_bound(address);
    if (behind == pieces_.begin()) return nullptr;
    const Piece& piece = std::prev(behind)->second;
    return address < piece.end ? &piece.value : nullptr;
  }

  bool empty() const { return pieces_.empty(); }

 private:
  struct Piece {
    uint64_t end;
    Value value;
  };

  // Splits the piece that has `address` inside.
  void split(uint64_t address) {
    const auto behind = pieces_.lower_bound(address);
    if (behind == pieces_.begin()) return;
    Piece& piece = std::prev(behind)->second;
    if (piece.end <= address) return;
    pieces_.insert(behind, {address, piece});
    piece.end = address;
  }

  std::map<uint64_t, Piece> pieces_;  // by begin
};

}  // namespace heaptape::base
