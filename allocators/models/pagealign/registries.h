// How pagealign_free looks up a block: the linked list of gnulib's lib/pagealign_alloc.c (2005 to
// 2025-09), the hash map that replaced it (commit 94371026, 2025-09-14; lib/gl_hash_map.c,
// gl_anyhash2.h), or nothing if free() does it all.
//
// add(address)     of a new block; false if there was no room for its node
//   remove(address)  of a live block
//   work()           so far, in the unit work_unit()
//   growth()         of the frees
//   append_counters(list)
// Nodes and tables come from the model underneath.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/growth_log.h"
#include "allocators/models/any_model/any_model.h"
#include "allocators/models/pagealign/page_blocks.h"
#include "allocators/models/pagealign/push_order.h"

namespace heaptape::allocators::pagealign {

// Singly linked; a new node becomes the head, and free walks from the head. PageBlock::link is the
// place in the order of pushes. The walk is charged, but not made.
class ListRegistry {
 public:
  static constexpr bool kKeepsNodes = true;
  static constexpr uint64_t kNodeBytes = 24;  // pointer, its size or origin, next

  ListRegistry(AnyModel& base, PageBlocks& blocks) : base_(base), blocks_(blocks) {}

  bool add(uint64_t address);
  void remove(uint64_t address);
  uint64_t work() const { return skipped_; }
  static const char* work_unit() { return "nodes skipped"; }
  GrowthCurve growth() const { return log_.curve("free", work_unit(), "list length"); }
  void append_counters(std::vector<Counter>& list) const;

 private:
  AnyModel& base_;
  PageBlocks& blocks_;
  PushOrder order_;
  uint64_t visited_ = 0;
  uint64_t skipped_ = 0;
  GrowthLog log_;
};

// Chains of nodes; a new node becomes the head of its chain. The table only grows: to the next of a
// series of primes once it has fewer buckets than one and a half times its nodes. PageBlock::link
// is the address of the next block of the chain, 0 = none.
class HashRegistry {
 public:
  static constexpr bool kKeepsNodes = true;
  static constexpr uint64_t kNodeBytes = 32;  // next, hash code, key, value
  static constexpr uint64_t kMapBytes = 64;   // of the map itself, taken with its first node
  static constexpr uint64_t kFirstBuckets = 11;
  static constexpr uint64_t kBucketBytes = 8;

  HashRegistry(AnyModel& base, PageBlocks& blocks) : base_(base), blocks_(blocks) {}

  bool add(uint64_t address);
  void remove(uint64_t address);
  uint64_t work() const { return probes_ + moves_; }
  static const char* work_unit() { return "probes and moves"; }
  GrowthCurve growth() const { return log_.curve("free", "probes", "table entries"); }
  void append_counters(std::vector<Counter>& list) const;

 private:
  bool create();
  void grow(uint64_t least_buckets);

  AnyModel& base_;
  PageBlocks& blocks_;
  std::vector<uint64_t> heads_;  // address of the first block of each chain, 0 = none
  uint64_t table_ = 0;           // address of the table
  uint64_t count_ = 0;
  uint64_t probes_ = 0;
  uint64_t moves_ = 0;
  uint64_t resizes_ = 0;
  GrowthLog log_;
};

// Table sizes are the first primes at or above each power of 1.2, beginning with 11; returns the
// first that is at least `least`.
uint64_t next_bucket_count(uint64_t least);

struct NoRegistry {
  static constexpr bool kKeepsNodes = false;

  NoRegistry(AnyModel&, PageBlocks&) {}
  void append_counters(std::vector<Counter>&) const {}
};

}  // namespace heaptape::allocators::pagealign
