// A process as its pool shows it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "recorder/collector/pools.h"
#include "recorder/ring/session_layout.h"
#include "tests/support/fake_session.h"

namespace heaptape::tests {

// Maps what a process maps when it joins, and writes there what it and its first thread would.
class PoolMember {
 public:
  PoolMember(const recorder::SessionView& session, const recorder::Pool& pool)
      : base_(mmap(nullptr, recorder::kJoinBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                   pool.descriptor(), 0)),
        serial_(uint64_t{pool.number()} << 32 | 1),
        view_(session) {
    EXPECT_NE(base_, MAP_FAILED);
    view_.set_pool({static_cast<char*>(base_), pool.number(), recorder::kFirstRings});
  }
  ~PoolMember() { munmap(base_, recorder::kJoinBytes); }
  PoolMember(const PoolMember&) = delete;
  PoolMember& operator=(const PoolMember&) = delete;

  void claim() const { recorder::announce_claim(view_); }
  // As if another process had erased what claim() says in the lobby.
  void claim_silently() const { ++view_.header().claims; }

  // Takes the first slot, and claims nothing yet.
  recorder::ProcessSlot& join(uint32_t pid, uint32_t flags = 0) const {
    recorder::ProcessSlot& slot = view_.process(0);
    slot.lock.word = kLivingOwner;
    slot.flags = flags;
    slot.pid = pid;
    slot.serial = serial_;
    slot.state = recorder::SlotState::kRunning;
    view_.header().slots_taken.high_water = 1;
    return slot;
  }
  // One malloc, in the first ring; claims nothing yet.
  recorder::RingHeader& log() const {
    recorder::RingHeader& ring = view_.ring(0);
    ring.process_serial = serial_;
    ring.lock.word = kLivingOwner;
    ring.state = recorder::RingState::kOwned;
    const std::vector<uint64_t> words = words_of(malloc_record(0x1000));
    std::ranges::copy(words, view_.words(0));
    ring.head = words.size();
    view_.header().rings_taken.high_water = 1;
    return ring;
  }
  const recorder::SessionView& view() const { return view_; }

 private:
  void* const base_;
  const uint64_t serial_;
  recorder::SessionView view_;
};

}  // namespace heaptape::tests
