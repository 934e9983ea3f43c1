#include "scenarios/basic.h"

#include <map>

namespace heaptape::scenarios {
namespace {

using schema::Event;
using schema::Op;
using schema::TapeWriter;

// Addresses that no two live blocks share: freed ones are used again, last in first out by size.
class Addresses {
 public:
  uint64_t take(uint64_t size) {
    const uint64_t room = room_of(size);
    auto& free = free_[room];
    if (!free.empty()) {
      const uint64_t address = free.back();
      free.pop_back();
      return address;
    }
    const uint64_t address = next_;
    next_ += room;
    return address;
  }
  void give_back(uint64_t address, uint64_t size) { free_[room_of(size)].push_back(address); }

 private:
  static uint64_t room_of(uint64_t size) { return (size + 8 + 15) / 16 * 16; }

  uint64_t next_ = 0x100000000000;
  std::map<uint64_t, std::vector<uint64_t>> free_;
};

// xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed == 0 ? 1 : seed) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_;
};

void put_malloc(TapeWriter& tape, uint64_t size, uint64_t address) {
  tape.append({Op::kMalloc, 0, size, 0, address, 0});
}
void put_free(TapeWriter& tape, uint64_t address) {
  tape.append({Op::kFree, 0, 0, 0, 0, address});
}

void generate_fill(const Values& values, TapeWriter& tape) {
  Addresses addresses;
  std::vector<uint64_t> blocks;
  for (uint64_t i = 0; i < values["count"]; ++i) {
    const uint64_t address = addresses.take(values["size"]);
    put_malloc(tape, values["size"], address);
    if (values["free"] != 0) blocks.push_back(address);
  }
  for (const uint64_t address : blocks) put_free(tape, address);
}

void generate_random_slots(const Values& values, TapeWriter& tape) {
  Addresses addresses;
  Random random(values["seed"]);
  std::vector<std::pair<uint64_t, uint64_t>> slots(std::max<uint64_t>(values["slots"], 1));
  const uint64_t span = std::max(values["max"], values["min"]) - values["min"] + 1;
  for (uint64_t i = 0; i < values["events"]; ++i) {
    const uint64_t draw = random.next();
    auto& [address, size] = slots[draw % slots.size()];
    if (address != 0) {
      put_free(tape, address);
      addresses.give_back(address, size);
      address = 0;
      continue;
    }
    size = values["min"] + (draw >> 20) % span;
    address = addresses.take(size);
    put_malloc(tape, size, address);
  }
}

void generate_resize(const Values& values, TapeWriter& tape) {
  Addresses addresses;
  uint64_t size = values["from"];
  uint64_t address = addresses.take(size);
  put_malloc(tape, size, address);
  while (size < values["to"]) {
    const uint64_t next_size = std::min(size + std::max<uint64_t>(values["step"], 1), values["to"]);
    const uint64_t next = addresses.take(next_size);
    tape.append({Op::kRealloc, 0, next_size, 0, next, address});
    addresses.give_back(address, size);
    address = next;
    size = next_size;
  }
  put_free(tape, address);
}

}  // namespace

Scenario fill_scenario() {
  return {"fill",
          "equal blocks, one after another",
          {{"count", 100'000, "blocks"},
           {"size", 232, "bytes of each"},
           {"free", 0, "1: free them all at the end, first to last"}},
          generate_fill};
}

Scenario random_slots_scenario() {
  return {"random-slots",
          "random mallocs and frees, half and half",
          {{"events", 1'000'000, "calls"},
           {"slots", 4096, "blocks at most"},
           {"min", 16, "smallest size in bytes"},
           {"max", 1039, "largest size in bytes"},
           {"seed", 88'172'645'463'325'252, "of the random numbers"}},
          generate_random_slots};
}

Scenario resize_scenario() {
  return {"resize",
          "one block that grows by realloc",
          {{"from", 8'000'835, "first size in bytes"},
           {"to", 8'000'925, "last size in bytes"},
           {"step", 90, "bytes that each realloc adds"}},
          generate_resize};
}

}  // namespace heaptape::scenarios
