#include <algorithm>
#include <vector>

#include "scenarios/lmdb_pages.h"
#include "scenarios/scenario_list.h"

namespace heaptape::scenarios {
namespace {

using schema::TapeWriter;

constexpr uint64_t kKeyBytes = 8;

// Entries per leaf. After the page's header, each takes an offset, a header, a key and its data,
// padded to an even size. LMDB needs room for at least two.
uint64_t entries_of_leaf(uint64_t data_bytes) {
  return std::max<uint64_t>((4096 - 16) / (2 + 8 + kKeyBytes + (data_bytes + 1) / 2 * 2), 2);
}

struct Leaf {
  Block page;
  uint64_t txn = 0;  // the last that wrote to it
  uint64_t entries = 0;
};

// Before its first change in a transaction, a leaf moves to a new page.
void touch(LmdbWriter& db, Leaf& leaf) {
  if (leaf.txn == db.txn()) return;
  const Block page = db.page();
  if (leaf.page.address != 0) db.free(leaf.page);
  leaf.page = page;
  leaf.txn = db.txn();
}

// Rising keys: full leaves in a row, and all writes to the last one.
class AppendedLeaves {
 public:
  explicit AppendedLeaves(uint64_t data_bytes) : capacity_(entries_of_leaf(data_bytes)) {}

  void insert(LmdbWriter& db) {
    if (last_.entries == capacity_) last_ = {};
    touch(db, last_);
    ++last_.entries;
  }

 private:
  const uint64_t capacity_;
  Leaf last_;
};

// Random keys. A leaf holds the keys that begin with certain bits. A full leaf splits on the next
// bit, and each half is assumed to have half the keys. Where LMDB would descend a tree, a directory
// by first bits finds the leaf (Fagin et al., "Extendible hashing", TODS 1979).
class ScatteredLeaves {
 public:
  explicit ScatteredLeaves(uint64_t data_bytes) : capacity_(entries_of_leaf(data_bytes)) {}

  void insert(LmdbWriter& db, uint64_t key) {
    uint32_t at = find(key);
    touch(db, leaves_[at].leaf);
    if (leaves_[at].leaf.entries == capacity_) {
      split(db, key);
      at = find(key);
    }
    ++leaves_[at].leaf.entries;
  }

 private:
  struct PrefixLeaf {
    Leaf leaf;
    int bits = 0;
  };

  uint64_t slot(uint64_t key) const { return bits_ == 0 ? 0 : key >> (64 - bits_); }
  uint32_t find(uint64_t key) const { return directory_[slot(key)]; }

  void split(LmdbWriter& db, uint64_t key) {
    const uint32_t low = find(key);
    if (leaves_[low].bits == bits_) deepen();
    PrefixLeaf high{{db.page(), db.txn(), capacity_ / 2}, ++leaves_[low].bits};
    leaves_[low].leaf.entries -= high.leaf.entries;
    // The upper half of the slots that had the leaf.
    const uint64_t slots = uint64_t{1} << (bits_ - high.bits);
    const uint64_t first = (slot(key) & ~(2 * slots - 1)) + slots;
    std::fill_n(directory_.begin() + static_cast<ptrdiff_t>(first), slots,
                static_cast<uint32_t>(leaves_.size()));
    leaves_.push_back(high);
  }

  void deepen() {
    std::vector<uint32_t> twice;
    twice.reserve(2 * directory_.size());
    for (const uint32_t leaf : directory_) twice.insert(twice.end(), 2, leaf);
    directory_ = std::move(twice);
    ++bits_;
  }

  const uint64_t capacity_;
  int bits_ = 0;
  std::vector<PrefixLeaf> leaves_{1};
  std::vector<uint32_t> directory_{0};
};

enum class KeyOrder : uint64_t { kRandom, kSequential };

void write_dust(LmdbWriter& db, const Values& values) {
  Random random(values["seed"]);
  AppendedLeaves appended(values["dust_bytes"]);
  ScatteredLeaves scattered(values["dust_bytes"]);
  const bool sequential = values.get<KeyOrder>("key_order") == KeyOrder::kSequential;
  const uint64_t count = values["dust"];
  const uint64_t per_txn = std::max<uint64_t>(values["dust_per_txn"], 1);
  for (uint64_t i = 1; i <= count; ++i) {
    if (sequential) {
      appended.insert(db);
    } else {
      scattered.insert(db, random.next());
    }
    if (i % per_txn != 0 && i != count) continue;
    if (db.txn() == values["hold_reader"]) db.begin_read();
    db.commit();
  }
  db.end_read();
}

void write_bricks(LmdbWriter& db, const Values& values) {
  AppendedLeaves index(8);  // an entry holds the number of the brick's first page
  const uint64_t per_txn = std::max<uint64_t>(values["bricks_per_txn"], 1);
  const uint64_t bricks = values["bricks"];
  const uint64_t bytes = values["brick_bytes"];
  for (uint64_t i = 1; i <= bricks; ++i) {
    index.insert(db);
    db.value(bytes);
    if (i % per_txn == 0 || i == bricks) db.commit();
  }
}

void generate_lmdb_dust_bricks(const Values& values, TapeWriter& tape) {
  LmdbWriter db(tape);
  write_dust(db, values);
  write_bricks(db, values);
}

}  // namespace

Scenario lmdb_dust_bricks_scenario() {
  return {"lmdb-dust-bricks",
          "small values all over a database, then large ones that need contiguous pages",
          {{"dust", 10'000'000, "number of small values"},
           {"dust_per_txn", 10'000, "small values per transaction"},
           {"dust_bytes", 100, "bytes per small value"},
           choice("key_order", KeyOrder::kRandom, "order of the small values' keys",
                  {"random", "sequential"}),
           {"hold_reader", 850,
            "transaction that a reader holds until all small values are written; 0: none"},
           {"bricks", 200'000, "number of large values"},
           {"brick_bytes", 80'000, "bytes per large value"},
           {"bricks_per_txn", 1, "large values per transaction"},
           {"seed", 1, "seed of the random numbers"}},
          generate_lmdb_dust_bricks};
}

}  // namespace heaptape::scenarios
