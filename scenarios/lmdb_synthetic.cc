#include <algorithm>
#include <utility>
#include <vector>

#include "scenarios/lmdb_pages.h"
#include "scenarios/scenario_list.h"

namespace heaptape::scenarios {
namespace {

using schema::TapeWriter;

// Allocates runs of 1 to `max_run` pages, each followed by a page that stays in use, and returns
// the pages of the runs.
std::vector<Block> lay_out(LmdbWriter& db, Random& random, uint64_t pages, uint64_t max_run) {
  std::vector<Block> free_later;
  while (free_later.size() < pages) {
    const uint64_t run = std::min(1 + random.below(max_run), pages - free_later.size());
    for (uint64_t i = 0; i < run; ++i) free_later.push_back(db.page());
    db.page();
  }
  return free_later;
}

void shuffle(std::vector<Block>& blocks, Random& random) {
  for (size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[random.below(i)]);
}

void generate_lmdb_synthetic(const Values& values, TapeWriter& tape) {
  LmdbWriter db(tape);
  Random random(values["seed"]);
  const uint64_t record = std::max<uint64_t>(values["record_len"], 1);
  const uint64_t records = (values["ids"] + record - 1) / record;
  const uint64_t brick_pages = std::max<uint64_t>(values["n"], 1);
  const uint64_t max_run =
      std::clamp<uint64_t>(values["max_run"], 1, std::max<uint64_t>(brick_pages - 1, 1));

  std::vector<Block> pages = lay_out(db, random, records * record, max_run);
  Block last = db.page();
  db.commit();
  shuffle(pages, random);
  for (uint64_t i = 0; i < pages.size(); ++i) {
    db.free(pages[i]);
    if ((i + 1) % record == 0) db.commit();
  }
  // Pages can be reused two transactions after they were freed. This transaction lies between and
  // frees nothing.
  db.rewrite(last);
  db.commit();

  const uint64_t per_txn = std::max<uint64_t>(values["bricks_per_txn"], 1);
  for (uint64_t i = 1; i <= values["bricks"]; ++i) {
    db.value(lmdb_value_bytes(brick_pages));
    if (i % per_txn == 0 || i == values["bricks"]) db.commit();
  }
}

}  // namespace

Scenario lmdb_synthetic_scenario() {
  return {"lmdb-synthetic",
          "a long list of free pages with no run as long as requested",
          {{"ids", 1'000'000, "number of free pages, rounded up to whole records"},
           {"record_len", 509, "pages freed per transaction; 509 fill a record of one page"},
           {"max_run", 19, "longest run of free pages, always below n"},
           {"n", 20, "pages per brick"},
           {"bricks", 1, "number of bricks at the end"},
           {"bricks_per_txn", 1, "bricks per transaction"},
           {"seed", 1, "seed of the random numbers"}},
          generate_lmdb_synthetic};
}

}  // namespace heaptape::scenarios
