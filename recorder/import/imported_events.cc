#include "recorder/import/imported_events.h"

#include <algorithm>
#include <bit>

#include "base/address/address_range.h"
#include "base/address/pages.h"
#include "base/display_text.h"

namespace heaptape::recorder {
namespace {

using schema::Op;
using schema::OpKind;

size_t just_freed_place(uint64_t key, size_t size) {
  return static_cast<size_t>((key * 0x9e3779b97f4a7c15) >> 32) % size;
}

uint64_t alignment_of(const TraceCall& call) {
  const bool is_page_aligned = call.op == Op::kValloc || call.op == Op::kPvalloc;
  const uint64_t asked = is_page_aligned ? base::kPageBytes : call.alignment;
  if (asked > base::kAddressLimit) return asked;  // nothing will be found
  return std::bit_ceil(std::max<uint64_t>(asked, 16));
}

}  // namespace

uint32_t ImportedEvents::number_of(uint64_t thread) {
  if (thread == last_thread_ && thread_count_ != 0) [[likely]]
    return last_number_;
  const auto [found, is_new] = threads_.try_emplace(thread, thread_count_);
  if (is_new) ++thread_count_;
  last_thread_ = thread;
  last_number_ = found->second;
  return last_number_;
}

void ImportedEvents::end_thread(uint64_t thread) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  tape_.add_end(found->second);
  threads_.erase(found);
  last_thread_ = UINT64_MAX;
}

// A tape samples the time: once in a while, and on both sides of a pause.
void ImportedEvents::note_time(uint64_t time_ns) {
  constexpr uint64_t kEventsPerSample = 256;
  constexpr uint64_t kPauseNs = 1'000'000;
  if (!first_ns_) {
    first_ns_ = time_ns;
    tape_.add_time(0);
  }
  const uint64_t passed_ns = time_ns > *first_ns_ ? time_ns - *first_ns_ : 0;
  const uint64_t events = tape_.events();
  if (passed_ns > last_ns_ + kPauseNs) {
    if (sampled_ns_ != last_ns_ || sampled_event_ != events) tape_.add_time(last_ns_);
    tape_.add_time(passed_ns);
    sampled_ns_ = passed_ns;
    sampled_event_ = events;
  } else if (events - sampled_event_ >= kEventsPerSample) {
    sampled_ns_ = std::max(passed_ns, last_ns_);
    sampled_event_ = events;
    tape_.add_time(sampled_ns_);
  }
  last_ns_ = std::max(passed_ns, last_ns_);
}

bool ImportedEvents::add(const TraceCall& call) {
  if (addresses_ == Addresses::kOfTrace &&
      (call.block >= base::kAddressLimit || call.old_block >= base::kAddressLimit)) {
    return false;
  }
  if (call.time_ns) note_time(*call.time_ns);
  const uint32_t thread = number_of(call.thread);
  switch (schema::op_info(call.op).kind) {
    case OpKind::kAllocate:
      return allocate(call, thread);
    case OpKind::kResize:
      return resize(call, thread);
    case OpKind::kRelease:
      release(call, thread);
      return true;
  }
  return false;
}

std::optional<uint64_t> ImportedEvents::place_of(const TraceCall& call, const LiveBlock* resized) {
  if (addresses_ == Addresses::kOfTrace) return call.block;
  if (resized != nullptr) return places_.resize(resized->address, resized->size, call.size);
  return places_.take(call.size, alignment_of(call));
}

void ImportedEvents::append_failed(const TraceCall& call, uint32_t thread) {
  tape_.append({call.op, thread, call.size, call.alignment, 0, 0});
}

bool ImportedEvents::allocate(const TraceCall& call, uint32_t thread) {
  if (call.block == 0) {
    append_failed(call, thread);
    return true;
  }
  free_missed(call.block, thread);
  const std::optional<uint64_t> address = place_of(call, nullptr);
  if (!address) return false;
  tape_.append({call.op, thread, call.size, call.alignment, *address, 0});
  live_.insert({call.block, *address, call.size});
  return true;
}

bool ImportedEvents::resize(const TraceCall& call, uint32_t thread) {
  const LiveBlock* old = call.old_block == 0 ? nullptr : live_.find(call.old_block);
  // The tape has the result of resizing an unknown block as a new block.
  if (old == nullptr && call.old_block != 0) ++troubles_.unknown_resizes;
  const uint64_t old_address = old == nullptr ? 0 : old->address;
  if (call.block == 0) {
    tape_.append({call.op, thread, call.size, 0, 0, old_address});
    if (old != nullptr && call.size == 0) forget(old);  // how glibc frees
    return true;
  }
  if (call.block != call.old_block) {
    free_missed(call.block, thread);
    old = call.old_block == 0 ? nullptr : live_.find(call.old_block);  // it may have moved
  }
  const std::optional<uint64_t> address = place_of(call, old);
  if (!address) return false;
  if (old != nullptr) {
    live_.erase(old);
    if (call.block != call.old_block) {
      just_freed_[just_freed_place(call.old_block, kJustFreed)] = call.old_block;
    }
  }
  tape_.append({call.op, thread, call.size, 0, *address, old_address});
  live_.insert({call.block, *address, call.size});
  return true;
}

void ImportedEvents::release(const TraceCall& call, uint32_t thread) {
  const LiveBlock* const block = call.old_block == 0 ? nullptr : live_.find(call.old_block);
  if (block == nullptr && call.old_block != 0) {
    const size_t place = just_freed_place(call.old_block, kJustFreed);
    const bool was_freed = just_freed_[place] == call.old_block;
    ++(was_freed ? troubles_.double_frees : troubles_.unknown_frees);
    return;
  }
  tape_.append({call.op, thread, 0, call.alignment, 0, block == nullptr ? 0 : block->address});
  if (block != nullptr) forget(block);
}

void ImportedEvents::free_missed(uint64_t key, uint32_t thread) {
  const LiveBlock* const block = live_.find(key);
  if (block == nullptr) return;
  tape_.append({Op::kFree, thread, 0, 0, 0, block->address});
  forget(block);
  ++troubles_.missed_frees;
}

void ImportedEvents::forget(const LiveBlock* block) {
  just_freed_[just_freed_place(block->key, kJustFreed)] = block->key;
  if (addresses_ == Addresses::kMadeUp) places_.give_back(block->address, block->size);
  live_.erase(block);
}

void ImportedEvents::add_malformed(uint64_t at, std::string_view text) {
  constexpr size_t kShownBytes = 60;
  ++troubles_.malformed;
  if (troubles_.malformed_pieces.size() == ImportTroubles::kMostPieces) return;
  std::string shown(text.substr(0, kShownBytes));
  if (text.size() > kShownBytes) shown += "...";
  troubles_.malformed_pieces.push_back({at, base::display_text(shown)});
}

}  // namespace heaptape::recorder
