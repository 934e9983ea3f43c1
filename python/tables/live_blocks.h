// Which blocks are live, call by call: what makes a row of each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address/address_shadow.h"
#include "base/address/slot_table.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::python {

// Half of it is of the call that asked for it. A resize keeps the block.
struct alignas(32) Block {
  uint64_t birth = 0;  // number of the call that asked for it, from 1; 0: it is not live
  uint64_t birth_ns = 0;
  uint64_t first_size = 0;
  uint64_t alignment = 0;  // 0: none was asked for
  uint32_t thread = 0;
  schema::FrameNumber stack = 0;  // 0: none
  schema::Op op = schema::Op::kMalloc;
  uint32_t resizes = 0;
  uint64_t size = 0;     // as it was asked for last
  uint64_t address = 0;  // where it was last
};

// What was seen with a call.
struct CallPlace {
  uint64_t number;  // from 1
  uint64_t time_ns;
  schema::FrameNumber stack;
};

// Says of every tape what the replayer's SlotResolver says: a block that is handed out while it is
// live (its free is missing on the tape) stays live to the end. One thread; events in the order of
// the tape. Memory grows with blocks that are live at a time.
class LiveBlocks {
 public:
  // The block that the call gave up, until the next call of this; null: none that is known.
  const Block* note(const schema::Event& event, const CallPlace& place);

  // Blocks that were ever live at a time: this must stay below the greatest number of a slot.
  size_t slots() const { return blocks_.size(); }
  // Those that are live, in the order of their births.
  std::vector<const Block*> live() const;

 private:
  void allocate(const schema::Event& event, const CallPlace& place);
  void resize(const schema::Event& event, const CallPlace& place);
  const Block* release(uint64_t address);
  uint32_t take_slot();

  base::AddressShadow shadow_;  // slots
  base::SlotTable<Block> blocks_;
  std::vector<uint32_t> free_slots_;
  Block released_;
};

}  // namespace heaptape::python
