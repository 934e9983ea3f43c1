#include "recorder/collector/process_recorder.h"

#include <algorithm>

namespace heaptape::recorder {
namespace {

// A block that is handed out while it looks alive is being moved by a realloc that has yet to be
// logged. Longer than this, the thread that makes it was stopped or killed on the way.
constexpr uint64_t kPatienceNs = 200'000'000;
constexpr int kMaxEarlyDepth = 8;

// The block a record gives up, and the one it brings; 0 = none. A resize in place does neither.
uint64_t given_up(const Record& record) {
  switch (schema::op_info(record.op).kind) {
    case OpKind::kAllocate:
      return 0;
    case OpKind::kRelease:
      return record.address;
    case OpKind::kResize:
      break;
  }
  const bool failed = record.address == 0 && record.size != 0;
  return failed || record.address == record.old_address ? 0 : record.old_address;
}

uint64_t brought(const Record& record) {
  switch (schema::op_info(record.op).kind) {
    case OpKind::kAllocate:
      return record.address;
    case OpKind::kRelease:
      return 0;
    case OpKind::kResize:
      break;
  }
  return record.address == record.old_address ? 0 : record.address;
}

bool later(const RingCursor* a, const RingCursor* b) {
  return a->order() > b->order();
}

}  // namespace

ProcessRecorder::ProcessRecorder(SessionView session, uint32_t slot,
                                 std::unique_ptr<schema::TapeWriter> writer, uint64_t start_ns)
    : session_(session), slot_(slot), writer_(std::move(writer)), start_ns_(start_ns) {}

void ProcessRecorder::add_ring(uint32_t index) {
  cursors_.push_back(std::make_unique<RingCursor>(session_, index, next_thread_++));
}

uint64_t ProcessRecorder::drain(uint64_t cut, uint64_t now_ns) {
  const uint64_t before = writer_->events();
  for (const auto& cursor : cursors_) cursor->refresh();
  if (next_thread_ == 1 && !cursors_.empty()) drain_unstamped(*cursors_.front());
  while (drain_merged(cut, now_ns)) {
  }
  for (const auto& cursor : cursors_) cursor->release();
  const uint64_t events = writer_->events() - before;
  if (events != 0) writer_->add_time(now_ns - start_ns_);
  return events;
}

// While there is one thread, the ring's order is the order.
void ProcessRecorder::drain_unstamped(RingCursor& cursor) {
  const Pass pass{&cursor, false, nullptr, 0};
  for (const Record* record = cursor.peek(); record != nullptr && record->stamp == 0;
       record = cursor.peek()) {
    emit(*record, pass);
    cursor.pop();
    cursor.release_if_due();
  }
}

// Takes the ring with the oldest record, emits from it while it stays the oldest, and so on. True
// when it must be called again because emit() moved other rings on.
bool ProcessRecorder::drain_merged(uint64_t cut, uint64_t now_ns) {
  heap_.clear();
  const auto visible = [cut](RingCursor* cursor) {
    return cursor->peek() != nullptr && cursor->order() <= cut;
  };
  for (const auto& cursor : cursors_) {
    if (visible(cursor.get())) heap_.push_back(cursor.get());
  }
  std::ranges::make_heap(heap_, later);
  heap_stale_ = false;
  while (!heap_.empty() && !heap_stale_) {
    std::ranges::pop_heap(heap_, later);
    RingCursor* cursor = heap_.back();
    const uint64_t next_order = heap_.size() > 1 ? heap_.front()->order() : kEverything;
    do {
      const bool patient = waiting_since_ns_ == 0 || now_ns - waiting_since_ns_ < kPatienceNs;
      const Pass pass{cursor, cut != kEverything && patient, nullptr, 0};
      if (emit(*cursor->peek(), pass) == Emitted::kMustWait) {
        if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns;
        return false;
      }
      waiting_since_ns_ = 0;
      cursor->pop();
    } while (visible(cursor) && cursor->order() <= next_order);
    cursor->release_if_due();
    if (visible(cursor)) {
      std::ranges::push_heap(heap_, later);
    } else {
      heap_.pop_back();
    }
  }
  return heap_stale_;
}

ProcessRecorder::Emitted ProcessRecorder::emit(const Record& record, const Pass& pass) {
  const uint64_t gone = given_up(record);
  const uint64_t fresh = brought(record);
  if (fresh != 0 && live_.contains(fresh)) [[unlikely]] {
    if (emit_pending_release(fresh, record.stamp, pass)) {
      ++repaired_inversions_;
    } else if (pass.may_wait) {
      return Emitted::kMustWait;
    } else {
      ++unrepaired_inversions_;
    }
  }
  if (gone != 0 && !live_.erase(gone)) ++unknown_frees_;
  if (fresh != 0) live_.insert(fresh);
  append(record, pass.cursor->thread());
  return Emitted::kYes;
}

// Looks for the record that gave `address` up before `stamp` at the front of the other rings, and
// emits it. False, too, when that one has to wait itself: the block it got is yet to be given up.
bool ProcessRecorder::emit_pending_release(uint64_t address, uint64_t stamp, const Pass& pass) {
  if (pass.depth == kMaxEarlyDepth) return false;
  for (const auto& cursor : cursors_) {
    if (pass.involves(cursor.get())) continue;
    cursor->refresh();
    const Record* front = cursor->peek();
    if (front == nullptr || given_up(*front) != address || front->begin_stamp > stamp) continue;
    const Pass inner{cursor.get(), pass.may_wait, &pass, pass.depth + 1};
    if (emit(*front, inner) == Emitted::kMustWait) return false;
    cursor->pop();
    heap_stale_ = true;
    return true;
  }
  return false;
}

void ProcessRecorder::append(const Record& record, uint32_t thread) {
  schema::Event event;
  event.op = record.op;
  event.thread = thread;
  if (schema::op_info(record.op).kind == OpKind::kRelease) {
    event.freed_address = record.address;
  } else {
    event.address = record.address;
    event.size = record.size;
    event.alignment = record.alignment;
    event.freed_address = record.old_address;
  }
  writer_->append(event);
}

bool ProcessRecorder::idle() const {
  return std::ranges::all_of(cursors_, [](const auto& cursor) { return cursor->idle(); });
}

void ProcessRecorder::add_sample(schema::ProcessSample sample, uint64_t now_ns) {
  sample.time_ns = now_ns - start_ns_;
  writer_->add_sample(std::move(sample));
}

void ProcessRecorder::RingCounts::add(const RingHeader& ring) {
  lost += ring.lost.load(std::memory_order_relaxed);
  stalls += ring.stalls.load(std::memory_order_relaxed);
  stall_ns += ring.stall_ns.load(std::memory_order_relaxed);
}

schema::TapeSummary ProcessRecorder::collect_summary(uint64_t now_ns) const {
  const ProcessSlot& slot = session_.process(slot_);
  RingCounts rings = freed_counts_;
  for (const auto& cursor : cursors_) {
    rings.add(cursor->header());
    if (cursor->broken()) ++rings.lost;  // at least; nobody knows how many
  }
  schema::TapeSummary summary;
  summary.losses.lost_events = rings.lost + slot.lost.load(std::memory_order_relaxed);
  summary.losses.unrepaired_inversions = unrepaired_inversions_;
  summary.repaired_inversions = repaired_inversions_;
  summary.unknown_frees = unknown_frees_;
  summary.nested_calls = slot.nested.load(std::memory_order_relaxed);
  summary.bootstrap_calls = slot.bootstrap.load(std::memory_order_relaxed);
  summary.stalls = rings.stalls;
  summary.stall_ns = rings.stall_ns;
  summary.duration_ns = now_ns - start_ns_;
  return summary;
}

void ProcessRecorder::free_slot() {
  for (const auto& cursor : cursors_) cursor->free_ring();
  cursors_.clear();
  session_.process(slot_).state.store(SlotState::kFree, std::memory_order_release);
}

}  // namespace heaptape::recorder
