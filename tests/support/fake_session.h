// A recording session without processes or threads, and with one pool: the memory of
// recorder/ring/session_layout.h, and a pen that writes into a ring as a thread would. It shares no
// code with the interposer, so each checks the other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "recorder/collector/pools.h"
#include "recorder/collector/ring_cursor.h"
#include "recorder/ring/record.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::tests {

class FakeSession {
 public:
  FakeSession();
  ~FakeSession();
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;

  recorder::SessionView view() const {
    return {board(), lobby_, {base_, 0, recorder::kRings, recorder::PoolView::Mapped::kWhole}};
  }
  recorder::Board& board() const { return *reinterpret_cast<recorder::Board*>(board_); }
  recorder::Lobby& lobby() const { return view().lobby(); }
  recorder::PoolHeader& header() const { return view().header(); }
  // Has only the common one at first.
  recorder::Pools& pools() { return *pools_; }

  // Acts as a process that joins. Its serial is slot + 1.
  recorder::ProcessSlot& join(uint32_t slot, uint32_t pid, uint32_t flags = 0);

 private:
  static constexpr uint64_t kBytes = recorder::pool_bytes(recorder::kRings);

  char* board_;
  char* lobby_;
  char* base_;
  std::unique_ptr<recorder::Pools> pools_;
};

inline constexpr uint32_t kNoPid = 0x7ffffff0;  // this and those above: more than Linux gives

// The owner state in the lock of a slot or ring.
inline constexpr uint32_t kLivingOwner = 1;
inline constexpr uint32_t kDeadOwner = FUTEX_OWNER_DIED;

// The words of a record; stamped if record.stamp is not 0.
std::vector<uint64_t> words_of(const recorder::Record& record);

recorder::Record malloc_record(uint64_t address, uint64_t stamp = 0, uint64_t size = 32);
recorder::Record free_record(uint64_t address, uint64_t stamp = 0);
// Begun at `begin` and logged at `end`; both 0: unstamped.
recorder::Record realloc_record(uint64_t old_address, uint64_t address, uint64_t begin = 0,
                                uint64_t end = 0);

// One thread of a fake process: claims the ring at `ring` and writes into it.
class RingPen {
 public:
  RingPen(const FakeSession& session, uint32_t ring, uint32_t slot = 0,
          uint32_t owner = kLivingOwner);

  recorder::RingHeader& header() const { return *ring_; }
  uint64_t head() const { return head_; }

  // Writes and publishes. The caller must ensure that there is room.
  RingPen& write(const recorder::Record& record);
  // Writes words unchanged, valid or not, and publishes all of them.
  RingPen& write_words(const std::vector<uint64_t>& words);
  // Leaves the rest of the segment empty.
  RingPen& end_segment();
  bool has_room() const;

 private:
  void put(uint64_t word) { words_[head_++ % recorder::kRingWords] = word; }
  void publish() { ring_->head.store(head_, std::memory_order_release); }

  recorder::RingHeader* ring_;
  uint64_t* words_;
  uint64_t head_ = 0;
};

// Shows the cursor what is in its ring by now.
void copy_and_show(recorder::Backlog& backlog, recorder::RingCursor& cursor);

}  // namespace heaptape::tests
