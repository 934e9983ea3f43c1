// How the rings of a process become the calls on its tape. Over 600 lines, because the steps of one
// merge share its state.
#include "recorder/collector/ring_merge.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

// A thread that resizes a block for longer than this has been stopped on the way.
constexpr uint64_t kPatienceNs = kPatienceMs * base::kMillisecondNs;
// A process that ends kills its threads, each of which then looks as if it had ended by itself. One
// that lives so long after its thread goes on, even where the machine is so busy that the kernel
// marks the owners of its locks one time slice after another.
constexpr uint64_t kSureAfterNs = 1000 * base::kMillisecondNs;
// Rounds that wait are few milliseconds of calls each. If there are many, the next are longer.
constexpr size_t kManyRounds = 1000;
constexpr uint64_t kLongRoundNs = 100 * base::kMillisecondNs;
// A child gets no copy of more mappings than this: forks must stay cheap.
constexpr size_t kMostInherited = 1024;
// How many forks are remembered for children that have not joined yet.
constexpr size_t kMostForks = 4096;
constexpr int kMaxDepth = 8;  // of calls that need another to come first

// One for all merges of a thread: nothing in it outlasts a step of a drain.
RingRun& shared_run() {
  thread_local RingRun run;
  return run;
}

// It has a call that the drain up to `cut` is to write.
bool is_visible(RingCursor& cursor, uint64_t cut) {
  return cursor.peek() != nullptr && cursor.order() <= cut;
}

bool is_resize(const LoggedCall& call) {
  return schema::op_info(call.event.op).kind == schema::OpKind::kResize;
}

// A resize to no bytes, which only gives up.
LoggedCall without_new_block(LoggedCall call) {
  call.event.address = call.event.size = 0;
  call.blocks.handed_out = 0;
  return call;
}

}  // namespace

RingMerge::RingMerge(Backlog& backlog, SessionView session, uint32_t slot,
                     schema::TapeEncoder& tape, uint64_t start_ns, WithStacks with_stacks)
    : backlog_(backlog),
      session_(session),
      slot_(slot),
      tape_(tape),
      start_ns_(start_ns),
      with_stacks_(with_stacks),
      by_frame_pointers_(session.board().unwinding == Unwinding::kFramePointers),
      clock_(session.board(), tape, start_ns),
      stacks_(std::make_unique<StackTable>(tape)) {
  if (with_stacks_ == WithStacks::kYes) tape.set_has_stacks();
}

RingMerge::RingMerge(RingMerge&& before, schema::TapeEncoder& tape, uint64_t cut)
    : backlog_(before.backlog_),
      session_(before.session_),
      slot_(before.slot_),
      tape_(tape),
      start_ns_(before.start_ns_),
      with_stacks_(before.with_stacks_),
      by_frame_pointers_(before.by_frame_pointers_),
      clock_(session_.board(), tape, start_ns_),
      settings_(std::move(before.settings_)),
      stacks_(std::move(before.stacks_)),
      cursors_(std::move(before.cursors_)),
      rounds_(std::move(before.rounds_)),
      rounds_begun_(before.rounds_begun_),
      last_cut_(before.last_cut_),
      done_cut_(before.done_cut_),
      begun_ns_(before.begun_ns_),
      now_ns_(before.now_ns_) {
  if (with_stacks_ == WithStacks::kYes) tape.set_has_stacks();
  stacks_->change_tape(tape);
  if (before.sizes_ != nullptr) count_sizes();
  for (const schema::SteeringCall& setting : settings_) tape.add_steering(setting);
  for (Round& round : rounds_) round.is_entered = false;
  for (const auto& cursor : cursors_) {
    cursor->change_tape(next_thread_++, cut);
    clear_counts(cursor->header());  // they went with the tape that was
    names_.add(cursor->header(), base::monotonic_ns());
  }
  clear_counts(session_.process(slot_));
}

void RingMerge::add_ring(uint32_t index) {
  StackTable* const stacks = with_stacks_ == WithStacks::kYes ? stacks_.get() : nullptr;
  cursors_.push_back(
      std::make_unique<RingCursor>(backlog_, session_, index, next_thread_++, stacks));
  names_.add(cursors_.back()->header(), base::monotonic_ns());
}

bool RingMerge::begin_round(uint64_t cut, uint64_t now_ns) {
  now_ns_ = now_ns;
  {
    const std::scoped_lock lock(backlog_.mutex());
    uint64_t words = 0;
    for (const auto& cursor : cursors_) words += cursor->waiting();
    const bool may_be_late = has_rounds() && cut != kEverything;
    if (may_be_late && !backlog_.has_room_for(words)) return false;
    if (may_be_late && rounds_.size() >= kManyRounds && now_ns - begun_ns_ < kLongRoundNs)
      return false;
    ++rounds_begun_;
    for (const auto& cursor : cursors_) cursor->copy(rounds_begun_);
  }
  last_cut_ = cut;
  begun_ns_ = now_ns;
  // If nobody is left, an exit killed them, and calls from before it may still be in the rings.
  const bool process_is_gone =
      cut == kEverything ||
      (owner_state(session_.process(slot_).lock) != OwnerState::kLives && all_owners_dead());
  rounds_.push_back({rounds_begun_, cut, now_ns, process_is_gone});
  return true;
}

bool RingMerge::work(uint64_t most) {
  const uint64_t end = written() + std::min(most, UINT64_MAX - written());
  // What waits for us is more urgent than small tapes.
  tape_.set_effort(backlog_.is_long() ? schema::Effort::kLow : schema::Effort::kFull);
  Progress progress = Progress::kDone;
  while (has_rounds() && progress == Progress::kDone) {
    Round& round = rounds_.front();
    if (!round.is_entered) enter(round);
    progress = work_on(round, end);
    for (const auto& cursor : cursors_) cursor->release();
    if (progress != Progress::kDone) continue;
    leave(round);
    done_cut_ = round.cut;
    rounds_.pop_front();
    if (written() >= end) progress = Progress::kMore;
  }
  return progress == Progress::kMore && has_rounds();
}

uint64_t RingMerge::drain(uint64_t cut, uint64_t now_ns) {
  const uint64_t before = tape_.events();
  if (!begin_round(cut, now_ns)) {
    finish_rounds();
    begin_round(cut, now_ns);
  }
  work(UINT64_MAX);
  return tape_.events() - before;
}

void RingMerge::finish_rounds() {
  while (has_rounds()) {
    waiting_since_ns_ = 1;  // long enough
    work(UINT64_MAX);
  }
}

void RingMerge::enter(Round& round) {
  round.is_entered = true;
  round.first_event = tape_.events();
  round_ns_ = round.now_ns;
  process_is_gone_ = round.process_is_gone;
  clock_.begin_drain(round.cut, round.now_ns);
  for (const auto& cursor : cursors_) cursor->show_round(round.number);
  if (!is_read()) clock_.end_pause();
  note_ends();
}

RingMerge::Progress RingMerge::work_on(const Round& round, uint64_t last_written) {
  if (next_thread_ == 1 && !cursors_.empty()) {
    const Progress progress = drain_unstamped(*cursors_.front(), last_written);
    if (progress != Progress::kDone) return progress;
  }
  return drain_merged(round.cut, last_written);
}

void RingMerge::leave(const Round& round) {
  clock_.end_drain(tape_.events() - round.first_event);
  if (end_is_sure(round.now_ns)) write_ends();
}

// Of several that ended since the last round, those go first whose last call was first.
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
  if (ending_.empty()) ending_since_ns_ = round_ns_;
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

bool RingMerge::is_read() const {
  return std::ranges::all_of(cursors_, [](const auto& cursor) { return cursor->is_read(); });
}

// While there is one thread, the ring's order is the order.
RingMerge::Progress RingMerge::drain_unstamped(RingCursor& cursor, uint64_t last_written) {
  RingRun& run = shared_run();
  for (;;) {
    while (cursor.is_beside_events() && cursor.order() == 0 && written() < last_written) {
      write_beside_call(cursor);
      cursor.release_if_due();
    }
    if (written() >= last_written) return Progress::kMore;
    const CallRun calls = run.take(cursor, 0);
    if (calls.calls.empty()) break;
    write(calls, IfLive::kCount);
    cursor.release_if_due();
  }
  note_end(cursor);
  return Progress::kDone;
}

// Takes the rings with the oldest calls, writes those that are older than all others, and goes on;
// anew when write() moved other rings on.
RingMerge::Progress RingMerge::drain_merged(uint64_t cut, uint64_t last_written) {
  do {
    heap_.clear();
    for (const auto& cursor : cursors_) {
      if (is_visible(*cursor, cut)) heap_.push_back(cursor.get());
    }
    std::ranges::make_heap(heap_, is_later);
    heap_stale_ = false;
    while (!heap_.empty() && !heap_stale_) {
      if (written() >= last_written) return Progress::kMore;
      if (heap_.front()->is_beside_events()) {
        std::ranges::pop_heap(heap_, is_later);
        RingCursor& cursor = *heap_.back();
        heap_.pop_back();
        write_beside_call(cursor);
        put_back(cursor, cut);
        continue;
      }
      if (!write_next(cut)) return Progress::kWaits;
    }
  } while (heap_stale_);
  return Progress::kDone;
}

// Writes the next run of calls. False if the first that is left must wait for one that is yet to be
// logged.
bool RingMerge::write_next(uint64_t cut) {
  RingRun& run = shared_run();
  const CallRun calls = run.take(heap_, cut, most_ahead_);
  const size_t written = write(calls, IfLive::kStop);
  if (written != 0) waiting_since_ns_ = 0;
  run.keep(written);
  most_ahead_ = std::min(2 * most_ahead_, CallBatch::kMost);
  bool must_wait = false;
  if (written < calls.calls.size()) {
    most_ahead_ = std::max(most_ahead_ / 4, 1u);
    RingCursor& cursor = run.ring_of(written);
    // A hostile thread may have changed what it logged.
    if (is_visible(cursor, cut) && !cursor.is_beside_events())
      must_wait = !write_after_its_cause(cursor);
  }
  for (RingCursor* const cursor : run.rings()) put_back(*cursor, cut);
  return !must_wait;
}

void RingMerge::write_beside_call(RingCursor& cursor) {
  if (!ending_.empty()) [[unlikely]]
    write_ends();
  const LoggedCall& call = *cursor.peek();
  ++beside_written_;
  if (const auto* const steering = std::get_if<schema::SteeringCall>(&call.beside)) {
    note_setting(*steering);
    tape_.add_steering(*steering);
  } else if (const auto* const mapping = std::get_if<LoggedMapping>(&call.beside)) {
    owners_.note({mapping->call.op, mapping->call.range, mapping->caller});
    tape_.add_mapping_call(mapping->call);
  } else if (const auto* const fork = std::get_if<LoggedFork>(&call.beside)) {
    if (forks_.size() == kMostForks) forks_.pop_front();
    forks_.push_back({fork->number, tape_.events(), fork->thread});
  }
  cursor.pop();
}

// A hostile process can only make these many.
void RingMerge::note_setting(const schema::SteeringCall& call) {
  constexpr size_t kMost = 64;
  if (!schema::is_inherited(call.op)) return;
  std::erase_if(settings_, [&](const auto& old) { return schema::is_same_setting(call, old); });
  if (settings_.size() == kMost) return;
  settings_.push_back(call);
  settings_.back().thread = 0;
}

// Writes the next call of this ring, which hands out a live block. False: must wait.
bool RingMerge::write_after_its_cause(RingCursor& cursor) {
  const bool patient = waiting_since_ns_ == 0 || now_ns_ - waiting_since_ns_ < kPatienceNs;
  const Turn turn{&cursor, last_cut_ != kEverything && patient, nullptr, 0};
  if (write(*cursor.peek(), turn) == Written::kMustWait) {
    if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns_;
    return false;
  }
  waiting_since_ns_ = 0;
  cursor.pop();
  return true;
}

void RingMerge::put_back(RingCursor& cursor, uint64_t cut) {
  cursor.release_if_due();
  if (!is_visible(cursor, cut)) {
    note_end(cursor);
  } else if (!heap_stale_) {  // else it is made anew
    heap_.push_back(&cursor);
    std::ranges::push_heap(heap_, is_later);
  }
}

// Returns how many of the calls are written: all, or those before one that hands out a live block.
size_t RingMerge::write(const CallRun& run, IfLive if_live) {
  const size_t count = note_blocks(run.calls, if_live);
  if (count == 0) return 0;
  if (!ending_.empty()) [[unlikely]]
    write_ends();
  const std::span<const schema::Event> calls = run.calls.first(count);
  if (by_frame_pointers_ && with_stacks_ == WithStacks::kYes) {
    for (size_t i = 0; i < count; ++i) {
      if (run.stacks[i] != 0) note_stack(run.stacks[i]);
    }
  }
  if (sizes_ != nullptr) [[unlikely]] {
    for (const schema::Event& call : calls) sizes_->add(call);
  }
  if (run.stamps == nullptr) {
    clock_.note_call(run.ticks, false);
    tape_.append(calls, run.stacks);
    return count;
  }
  const std::span<const uint64_t> stamps(run.stamps, count);
  for (size_t at = 0; at < count;) {
    const size_t without_time = clock_.note_calls_without_time(stamps.subspan(at));
    tape_.append(calls.subspan(at, without_time), run.stacks + at);
    at += without_time;
    if (at == count) break;
    clock_.note_call(stamps[at], true);
    tape_.append(calls[at], run.stacks[at]);
    ++at;
  }
  return count;
}

// The live blocks after the calls. Returns how many of them are accounted for, as write() does.
size_t RingMerge::note_blocks(std::span<const schema::Event> calls, IfLive if_live) {
  for (size_t i = 0; i < calls.size(); ++i) {
    const schema::Event& call = calls[i];
    const OpKind kind = schema::op_info(call.op).kind;
    if (kind == OpKind::kResize) [[unlikely]] {
      const ChangedBlocks blocks = blocks_of(call);
      if (blocks.handed_out != 0 && live_.contains(blocks.handed_out)) [[unlikely]] {
        if (if_live == IfLive::kStop) return i;
        ++unrepaired_inversions_;
      }
      note_changes(blocks, call.size);
      continue;
    }
    const bool hands_out = kind == OpKind::kAllocate;
    const uint64_t block = call.address | call.freed_address;  // one of them is 0
    if (block == 0) [[unlikely]]
      continue;
    if (!live_.set(block, hands_out)) [[unlikely]] {
      if (hands_out && if_live == IfLive::kStop) return i;
      ++(hands_out ? unrepaired_inversions_ : unknown_frees_);
    }
    if (OwnMappings::may_have_one(block)) [[unlikely]]
      hands_out ? own_mappings_.insert(block, call.size) : own_mappings_.erase(block);
    asked_bytes_ += call.size;  // 0 of a release
  }
  return calls.size();
}

void RingMerge::note_changes(const ChangedBlocks& blocks, uint64_t size) {
  if (blocks.given_up != 0) {
    if (!live_.erase(blocks.given_up)) ++unknown_frees_;
    own_mappings_.erase(blocks.given_up);
  }
  if (blocks.handed_out != 0) {
    live_.insert(blocks.handed_out);
    own_mappings_.insert(blocks.handed_out, size);
    asked_bytes_ += size;
  }
}

RingMerge::Written RingMerge::write(const LoggedCall& call, const Turn& turn) {
  if (call.blocks.handed_out != 0 && live_.contains(call.blocks.handed_out)) [[unlikely]] {
    // In this order: whoever is no longer at it has logged it.
    const bool to_come = may_be_given_up(call.blocks.handed_out);
    Written other = write_what_gave_up(call.blocks.handed_out, call.stamp, turn);
    if (other == Written::kNo && to_come && turn.may_wait) other = Written::kMustWait;
    if (other == Written::kMustWait) return other;
    if (other == Written::kNo && to_come) forsake(call.blocks.handed_out);
    if (other == Written::kNo && call.stamp > end_cut_ && is_resize(call)) {
      return write(without_new_block(call), turn);
    }
    ++(other == Written::kYes ? repaired_inversions_ : unrepaired_inversions_);
  }
  note_changes(call.blocks, call.event.size);
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
  stack_counts_.that_end_at_once += stacks_->ends_at_once(stack);
}

// Writes the call that gave `block` up and began by `stamp`, if it is the next one of another ring.
// kMustWait: it is, but needs one that is yet to be logged.
RingMerge::Written RingMerge::write_what_gave_up(uint64_t block, uint64_t stamp, const Turn& turn) {
  if (turn.depth == kMaxDepth) return Written::kNo;
  for (const auto& cursor : cursors_) {
    if (turn.involves(cursor.get())) continue;
    cursor->show_next();
    const LoggedCall* next = cursor->peek();
    if (next == nullptr || next->blocks.given_up != block || next->begin_stamp > stamp) continue;
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

void RingMerge::await_inheritance() {
  owners_.await_inheritance();
  own_mappings_.await_inheritance();
}

void RingMerge::inherit(const RingMerge* parent) {
  const bool is_small = parent != nullptr && parent->own_mappings_.count() <= kMostInherited;
  owners_.inherit(parent != nullptr ? parent->owners_ : MemoryOwners());
  own_mappings_.inherit(is_small ? &parent->own_mappings_ : nullptr);
}

const RingMerge::Fork* RingMerge::find(const std::deque<Fork>& forks, uint32_t number) {
  // A child is looked for soon after its fork.
  const auto fork = std::ranges::find(forks.rbegin(), forks.rend(), number, &Fork::number);
  return fork == forks.rend() ? nullptr : &*fork;
}

bool RingMerge::has_written_up_to(uint64_t cut) const {
  if (cut <= done_cut_) return true;
  if (!has_rounds() || !rounds_.front().is_entered || rounds_.front().cut < cut) return false;
  return std::ranges::all_of(cursors_, [cut](const auto& cursor) {
    return cursor->peek() == nullptr || cursor->order() > cut;
  });
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
    // As a round has shown: what it did before its death is before the calls of later rounds.
    if (!cursor->is_dead() || !(cursor->drained() || cursor->broken())) return false;
    note_end(*cursor);
    freed_counts_.add(*cursor);
    cursor->free_ring();
    freed.push_back(cursor->index());
    return true;
  });
  return freed;
}

uint32_t RingMerge::trim_idle_rings(uint64_t now_ns, uint32_t most) {
  uint32_t trimmed = 0;
  for (const auto& cursor : cursors_) {
    if (trimmed == most) break;
    trimmed += cursor->trim_if_idle(now_ns) ? 1 : 0;
  }
  return trimmed;
}

void RingMerge::trim_rings() {
  for (const auto& cursor : cursors_) cursor->trim();
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
  // Calls that an interval before counted may be taken back in this one.
  const auto nested = static_cast<int64_t>(slot.nested.load(std::memory_order_relaxed));
  summary.nested_calls = static_cast<uint64_t>(std::max<int64_t>(nested, 0));
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
