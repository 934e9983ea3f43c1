#include "tests/support/fake_session.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/check.h"

namespace heaptape::tests {

using namespace recorder;

namespace {

char* map_shared(uint64_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  HEAPTAPE_CHECK(base != MAP_FAILED);
  return static_cast<char*>(base);
}

void raise(Occupancy& taken, uint32_t index) {
  taken.high_water = std::max(taken.high_water.load(), index + 1);
}

}  // namespace

FakeSession::FakeSession()
    : board_(map_shared(kBoardBytes)), lobby_(map_shared(kLobbyBytes)), base_(map_shared(kBytes)) {
  lobby().stamp_counter = 1;
  board().clock = Clock::kCounter;
  pools_ = std::make_unique<Pools>(view());
  board().progress = 1;
}

FakeSession::~FakeSession() {
  munmap(base_, kBytes);
  munmap(lobby_, kLobbyBytes);
  munmap(board_, kBoardBytes);
}

ProcessSlot& FakeSession::join(uint32_t slot, uint32_t pid, uint32_t flags) {
  ProcessSlot& process = view().process(slot);
  process.lock.word = kLivingOwner;
  process.flags = flags;
  process.pid = pid;
  process.serial = slot + 1;
  process.parent_serial = 0;
  process.initial_break = 0x555555559000;
  std::strcpy(process.allocator.path, "/lib/libfake.so");
  process.state = SlotState::kRunning;
  raise(header().slots_taken, slot);
  announce_claim(view());
  return process;
}

std::vector<uint64_t> words_of(const Record& record) {
  const schema::OpInfo& info = schema::op_info(record.op);
  std::vector<uint64_t> words = {record.address << 8 | uint64_t{record.stamp != 0} << 6 |
                                 static_cast<uint64_t>(record.op)};
  if (record.stamp != 0) words.push_back(record.stamp);
  if (info.kind == OpKind::kResize) {
    if (record.stamp != 0) words.push_back(record.begin_stamp);
    words.insert(words.end(), {record.size, record.old_address});
  } else if (info.kind == OpKind::kAllocate) {
    words.push_back(record.size);
    if (info.aligned) words.push_back(record.alignment);
  }
  return words;
}

Record malloc_record(uint64_t address, uint64_t stamp, uint64_t size) {
  Record record;
  record.op = Op::kMalloc;
  record.address = address;
  record.size = size;
  record.stamp = stamp;
  return record;
}

Record free_record(uint64_t address, uint64_t stamp) {
  Record record;
  record.op = Op::kFree;
  record.address = address;
  record.stamp = stamp;
  return record;
}

Record realloc_record(uint64_t old_address, uint64_t address, uint64_t begin, uint64_t end) {
  Record record;
  record.op = Op::kRealloc;
  record.address = address;
  record.old_address = old_address;
  record.size = 64;
  record.stamp = end;
  record.begin_stamp = begin;
  return record;
}

RingPen::RingPen(const FakeSession& session, uint32_t ring, uint32_t slot, uint32_t owner)
    : ring_(&session.view().ring(ring)), words_(session.view().words(ring)) {
  HEAPTAPE_CHECK(ring_->state == RingState::kFree);
  ring_->process_slot = slot;
  if (slot < kRings) ring_->process_serial = session.view().process(slot).serial;
  ring_->lock.word = owner;
  ring_->state = RingState::kOwned;
  raise(session.header().rings_taken, ring);
  announce_claim(session.view());
}

RingPen& RingPen::write(const Record& record) {
  const uint64_t left = kSegmentWords - head_ % kSegmentWords;
  if (left < kMaxRecordWords) end_segment();
  return write_words(words_of(record));
}

RingPen& RingPen::write_words(const std::vector<uint64_t>& words) {
  for (const uint64_t word : words) put(word);
  publish();
  return *this;
}

RingPen& RingPen::end_segment() {
  if (head_ % kSegmentWords != 0) {
    words_[head_ % kRingWords] = kSegmentEndOp;
    head_ = (head_ / kSegmentWords + 1) * kSegmentWords;
  }
  publish();
  return *this;
}

bool RingPen::has_room() const {
  return head_ + 2 * kMaxRecordWords - ring_->tail.load(std::memory_order_acquire) <= kRingWords;
}

void copy_and_show(recorder::Backlog& backlog, recorder::RingCursor& cursor) {
  constexpr uint64_t kRound = 1;  // a cursor may have one again and again
  {
    const std::scoped_lock lock(backlog.mutex());
    cursor.copy(kRound);
  }
  cursor.show_round(kRound);
}

}  // namespace heaptape::tests
