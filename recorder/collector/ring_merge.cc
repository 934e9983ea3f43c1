#include "recorder/collector/ring_merge.h"

#include <algorithm>

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

// A thread that resizes a block for longer than this has been stopped on the way.
constexpr uint64_t kPatienceNs = kPatienceMs * base::kMillisecondNs;
// A process that ends kills its threads, each of which then looks as if it had ended by itself. One
// that lives so long after its thread goes on, even where the machine is so busy that the kernel
// marks the owners of its locks one time slice after another.
constexpr uint64_t kSureAfterNs = 1000 * base::kMillisecondNs;
constexpr int kMaxDepth = 8;  // of calls that need another to come first

bool later(const RingCursor* a, const RingCursor* b) {
  return a->order() > b->order();
}

}  // namespace

RingMerge::RingMerge(SessionView session, uint32_t slot, schema::TapeEncoder& tape,
                     uint64_t start_ns, WithStacks with_stacks)
    : session_(session),
      slot_(slot),
      tape_(tape),
      start_ns_(start_ns),
      with_stacks_(with_stacks),
      by_frame_pointers_(session.header().unwinding == Unwinding::kFramePointers),
      clock_(session.header(), tape, start_ns),
      stacks_(tape) {
  if (with_stacks_ == WithStacks::kYes) tape.set_has_stacks();
}

void RingMerge::add_ring(uint32_t index) {
  StackTable* const stacks = with_stacks_ == WithStacks::kYes ? &stacks_ : nullptr;
  cursors_.push_back(std::make_unique<RingCursor>(session_, index, next_thread_++, stacks));
  names_.add(cursors_.back()->header(), base::monotonic_ns());
}

uint64_t RingMerge::drain(uint64_t cut, uint64_t now_ns) {
  const uint64_t before = tape_.events();
  drain_ns_ = now_ns;
  clock_.begin_drain(cut, now_ns);
  for (const auto& cursor : cursors_) cursor->refresh();
  // If nobody is left, an exit killed them, and calls from before it may still be in the rings.
  process_is_gone_ =
      cut == kEverything ||
      (owner_state(session_.process(slot_).lock) != OwnerState::kLives && all_owners_dead());
  if (!is_drained()) clock_.end_pause();
  note_ends();
  if (next_thread_ == 1 && !cursors_.empty()) drain_unstamped(*cursors_.front());
  while (drain_merged(cut, now_ns)) {
  }
  for (const auto& cursor : cursors_) cursor->release();
  const uint64_t events = tape_.events() - before;
  clock_.end_drain(events);
  if (end_is_sure(now_ns)) write_ends();
  return events;
}

// Of several that ended since the last drain, those go first whose last call was first.
void RingMerge::note_ends() {
  if (process_is_gone_) return;
  std::vector<const RingCursor*> ended;
  for (const auto& cursor : cursors_) {
    if (cursor->comes_to_its_end()) ended.push_back(cursor.get());
  }
  std::ranges::stable_sort(ended, {}, &RingCursor::order);
  for (const RingCursor* cursor : ended) add_end(cursor->thread());
}

void RingMerge::note_end(RingCursor& cursor) {
  if (!process_is_gone_ && cursor.comes_to_its_end()) add_end(cursor.thread());
}

void RingMerge::add_end(uint32_t thread) {
  if (ending_.empty()) ending_since_ns_ = drain_ns_;
  ending_.push_back(thread);
}

void RingMerge::write_ends() {
  for (const uint32_t thread : ending_) tape_.add_end(thread);
  ending_.clear();
}

bool RingMerge::end_is_sure(uint64_t now_ns) const {
  return !ending_.empty() && !process_is_gone_ && now_ns - ending_since_ns_ >= kSureAfterNs &&
         owner_state(session_.process(slot_).lock) == OwnerState::kLives;
}

bool RingMerge::is_drained() const {
  return std::ranges::all_of(cursors_, [](const auto& cursor) { return cursor->drained(); });
}

// While there is one thread, the ring's order is the order.
void RingMerge::drain_unstamped(RingCursor& cursor) {
  const Turn turn{&cursor, false, nullptr, 0};
  for (const LoggedCall* call = cursor.peek(); call != nullptr && call->stamp == 0;
       call = cursor.peek()) {
    write(*call, turn);
    cursor.pop();
    cursor.release_if_due();
  }
  note_end(cursor);
}

// Takes the ring with the oldest call, writes its calls while they are the oldest, and goes on with
// the next ring. True when it must be called again because write() moved other rings on.
bool RingMerge::drain_merged(uint64_t cut, uint64_t now_ns) {
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
      const Turn turn{cursor, cut != kEverything && patient, nullptr, 0};
      if (write(*cursor->peek(), turn) == Written::kMustWait) {
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
      note_end(*cursor);
    }
  }
  return heap_stale_;
}

RingMerge::Written RingMerge::write(const LoggedCall& call, const Turn& turn) {
  if (call.handed_out != 0 && live_.contains(call.handed_out)) [[unlikely]] {
    // In this order: whoever is no longer at it has logged it.
    const bool to_come = may_be_given_up(call.handed_out);
    Written other = write_what_gave_up(call.handed_out, call.stamp, turn);
    if (other == Written::kNo && to_come && turn.may_wait) other = Written::kMustWait;
    if (other == Written::kMustWait) return other;
    if (other == Written::kNo && to_come) forsake(call.handed_out);
    ++(other == Written::kYes ? repaired_inversions_ : unrepaired_inversions_);
  }
  if (call.given_up != 0) {
    if (!live_.erase(call.given_up)) ++unknown_frees_;
    own_mappings_.erase(call.given_up);
  }
  if (call.handed_out != 0) {
    live_.insert(call.handed_out);
    own_mappings_.insert(call.handed_out, call.event.size);
    asked_bytes_ += call.event.size;
  }
  if (!ending_.empty()) [[unlikely]]
    write_ends();
  clock_.note_call(call.ticks, call.stamp != 0);
  if (call.stack != 0 && by_frame_pointers_) note_stack(call.stack);
  if (sizes_ != nullptr) [[unlikely]]
    sizes_->add(call.event);
  tape_.append(call.event, call.stack);
  return Written::kYes;
}

// A look at a frame is a miss of the cache.
void RingMerge::note_stack(schema::FrameNumber stack) {
  constexpr uint32_t kStep = 64;
  if (stacks_seen_++ % kStep != 0) return;
  ++stack_counts_.stacks;
  stack_counts_.that_end_at_once += stacks_.ends_at_once(stack);
}

// Writes the call that gave `block` up and began by `stamp`, if it is the next one of another ring.
// kMustWait: it is, but needs one that is yet to be logged.
RingMerge::Written RingMerge::write_what_gave_up(uint64_t block, uint64_t stamp, const Turn& turn) {
  if (turn.depth == kMaxDepth) return Written::kNo;
  for (const auto& cursor : cursors_) {
    if (turn.involves(cursor.get())) continue;
    cursor->refresh();
    const LoggedCall* next = cursor->peek();
    if (next == nullptr || next->given_up != block || next->begin_stamp > stamp) continue;
    const Turn inner{cursor.get(), turn.may_wait, &turn, turn.depth + 1};
    if (write(*next, inner) == Written::kMustWait) return Written::kMustWait;
    cursor->pop();
    note_end(*cursor);
    heap_stale_ = true;
    return Written::kYes;
  }
  return Written::kNo;
}

bool RingMerge::may_be_given_up(uint64_t block) const {
  return std::ranges::any_of(cursors_,
                             [=](const auto& cursor) { return cursor->may_give_up(block); });
}

void RingMerge::forsake(uint64_t block) {
  for (const auto& cursor : cursors_) {
    if (cursor->may_give_up(block)) cursor->forsake(block);
  }
}

bool RingMerge::has_written_up_to(uint64_t cut) const {
  return std::ranges::all_of(cursors_, [cut](const auto& cursor) {
    return cursor->peek() == nullptr || cursor->order() > cut;
  });
}

bool RingMerge::idle() const {
  return std::ranges::all_of(cursors_, [](const auto& cursor) { return cursor->idle(); });
}

void RingMerge::add_sample(schema::ProcessSample sample, uint64_t now_ns) {
  sample.time_ns = now_ns - std::min(now_ns, start_ns_);
  tape_.add_sample(std::move(sample));
}

schema::Mark RingMerge::add_mark(std::string name, uint64_t now_ns) {
  schema::Mark mark{tape_.events(), now_ns - std::min(now_ns, start_ns_), std::move(name)};
  tape_.add_mark(mark.name, mark.time_ns);
  return mark;
}

std::vector<uint32_t> RingMerge::free_dead_rings() {
  std::vector<uint32_t> freed;
  std::erase_if(cursors_, [&](const std::unique_ptr<RingCursor>& cursor) {
    if (!cursor->drained() || cursor->owner() != OwnerState::kDead) return false;
    cursor->refresh();  // its last words, written between the drain and its end
    if (!cursor->drained()) return false;
    note_end(*cursor);
    freed_counts_.add(*cursor);
    cursor->free_ring();
    freed.push_back(cursor->index());
    return true;
  });
  return freed;
}

bool RingMerge::all_owners_dead() const {
  return std::ranges::all_of(
      cursors_, [](const auto& cursor) { return cursor->owner() == OwnerState::kDead; });
}

void RingMerge::RingCounts::add(const RingCursor& cursor) {
  const RingHeader& ring = cursor.header();
  lost_full += ring.lost_full.load(std::memory_order_relaxed);
  lost_stopped += ring.lost_stopped.load(std::memory_order_relaxed);
  stalls += ring.stalls.load(std::memory_order_relaxed);
  stall_ns += ring.stall_ns.load(std::memory_order_relaxed);
  if (cursor.broken()) ++lost_broken;  // at least; nobody knows how many
}

RingMerge::RingCounts RingMerge::ring_counts() const {
  RingCounts rings = freed_counts_;
  for (const auto& cursor : cursors_) rings.add(*cursor);
  return rings;
}

schema::LossCauses RingMerge::loss_causes(const RingCounts& rings) const {
  const ProcessSlot& slot = session_.process(slot_);
  schema::LossCauses causes;
  causes.ring_full = rings.lost_full;
  causes.recorder_stopped = rings.lost_stopped;
  causes.no_ring = slot.lost_ringless.load(std::memory_order_relaxed);
  causes.left_hooks = slot.lost_interrupted.load(std::memory_order_relaxed);
  return causes;
}

std::vector<uint64_t> RingMerge::thread_blocks() const {
  std::vector<uint64_t> blocks;
  for (const auto& cursor : cursors_) {
    const uint64_t block = cursor->header().thread_block.load(std::memory_order_relaxed);
    if (block != 0 && cursor->owner() == OwnerState::kLives) blocks.push_back(block);
  }
  return blocks;
}

RingMerge::Troubles RingMerge::troubles() const {
  const RingCounts rings = ring_counts();
  const schema::LossCauses causes = loss_causes(rings);
  return {causes.ring_full + causes.recorder_stopped + causes.no_ring + causes.left_hooks +
              rings.lost_broken,
          rings.stalls, rings.stall_ns};
}

schema::TapeSummary RingMerge::collect_summary(uint64_t now_ns) const {
  const ProcessSlot& slot = session_.process(slot_);
  schema::TapeSummary summary;
  summary.losses.causes = loss_causes(ring_counts());
  const Troubles counted = troubles();
  summary.losses.lost_events = counted.lost;
  summary.losses.unrepaired_inversions = unrepaired_inversions_;
  summary.repaired_inversions = repaired_inversions_;
  summary.unknown_frees = unknown_frees_;
  summary.nested_calls = slot.nested.load(std::memory_order_relaxed);
  summary.bootstrap_calls = slot.bootstrap.load(std::memory_order_relaxed);
  summary.stalls = counted.stalls;
  summary.stall_ns = counted.stall_ns;
  summary.thread_list = names_.list();
  summary.duration_ns = now_ns - std::min(now_ns, start_ns_);
  return summary;
}

std::vector<uint32_t> RingMerge::free_rings(Free which) {
  std::vector<uint32_t> indices;
  for (const auto& cursor : cursors_) {
    indices.push_back(cursor->index());
    if (which == Free::kAll || !cursor->owner_is_seen_alive()) cursor->free_ring();
  }
  cursors_.clear();
  return indices;
}

}  // namespace heaptape::recorder
