// Which op must wait for which when the tape's threads run at the same time: an op that uses a
// block waits for the op that made the block or used it last, if that is on another thread. Nothing
// else waits.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "allocators/replay_op.h"

namespace heaptape::allocators {

// One thread.
class FreeOrder {
 public:
  // For ops that follow those of the previous call, all of which are done by then. waits[i] is set
  // to the number, counted from 1, of the op that ops[i] waits for; 0 = none. Waits implied by
  // others of the same two threads are omitted. The ops get slots of this class's own: the tape
  // reuses the slot of a freed block for the next one, which would then have to wait for the free.
  void prepare(std::span<ReplayOp> ops, uint32_t* waits);
  // Above every slot so far.
  uint32_t slot_limit() const { return slot_limit_; }

 private:
  struct Block {
    uint32_t slot = 0;  // 1 more than the slot; 0 = none
    uint16_t thread = 0;
    uint64_t used = 0;  // number of the op that used it last, over all calls
  };

  uint32_t wait_for(const Block& block, uint16_t thread);
  uint32_t take_slot(uint16_t thread);

  std::vector<Block> blocks_;         // by slot of the tape
  std::vector<uint32_t> free_slots_;  // the threads that freed them are done
  std::unordered_map<uint16_t, std::vector<uint32_t>> freed_slots_;  // in this call, by thread
  std::unordered_map<uint32_t, uint32_t> seen_;  // by waiting and awaited thread: the latest op
  uint64_t before_ = 0;                          // ops of earlier calls
  uint32_t slot_limit_ = 0;
};

}  // namespace heaptape::allocators
