// Tracks live blocks call by call, to make a row of each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address/address_shadow.h"
#include "base/address/slot_table.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::python {

// Half of it describes the call that asked for it. A resize keeps the block.
struct alignas(32) Block {
  uint64_t birth = 0;  // number of the call that asked for it, from 1; 0: not live
  uint64_t birth_ns = 0;
  uint64_t first_size = 0;
  uint64_t alignment = 0;  // 0: none was asked for
  uint32_t thread = 0;
  schema::FrameNumber stack = 0;  // 0: none
  schema::Op op = schema::Op::kMalloc;
  uint32_t resizes = 0;
  uint64_t size = 0;     // the size last asked for
  uint64_t address = 0;  // its last address
};

// The context of a call.
struct CallPlace {
  uint64_t number;  // from 1
  uint64_t time_ns;
  schema::FrameNumber stack;
};

// Agrees with the replayer's SlotResolver for every tape: a block that is handed out while live
// (its free is missing on the tape) stays live to the end. One thread; events in the order of the
// tape. Memory grows with the number of blocks live at once.
class LiveBlocks {
 public:
  // The block that the call freed, valid until the next call of this; null if none is known.
  const Block* note(const schema::Event& event, const CallPlace& place);

  // The most blocks live at once: must stay below the greatest slot number.
  size_t slots() const { return blocks_.size(); }
  // The live blocks, in order of birth.
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
