#include "allocators/native/memory_tracker.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::page_up;

bool failed(uint64_t result) {
  return result > UINT64_MAX - 4095;
}

AddressRange pages(uint64_t begin, uint64_t bytes) {
  return {begin, begin + page_up(bytes)};
}

}  // namespace

void MemoryTracker::commit(AddressRange range) {
  committed_.add(range);
  events_->push_back({op_, RegionEvent::Kind::kCommit, range});
}

void MemoryTracker::decommit(AddressRange range) {
  committed_.remove(range);
  events_->push_back({op_, RegionEvent::Kind::kDecommit, range});
}

void MemoryTracker::apply(const MemoryCall& call, uint32_t op, std::vector<RegionEvent>& events) {
  if (failed(call.result)) return;
  op_ = op;
  events_ = &events;
  switch (call.number) {
    case SYS_mmap:
      on_mmap(call);
      break;
    case SYS_mremap:
      on_mremap(call);
      break;
    case SYS_mprotect:
      on_mprotect(call);
      break;
    case SYS_brk:
      on_brk(call);
      break;
    case SYS_munmap: {
      const AddressRange range = pages(call.arguments[0], call.arguments[1]);
      anonymous_.remove(range);
      if (committed_.overlaps(range)) decommit(range);
      break;
    }
    default:
      break;
  }
}

// mmap(address, bytes, protection, flags, fd)
void MemoryTracker::on_mmap(const MemoryCall& call) {
  const AddressRange range = pages(call.result, call.arguments[1]);
  const uint64_t flags = call.arguments[3];
  if (committed_.overlaps(range)) decommit(range);  // MAP_FIXED over a mapping
  anonymous_.remove(range);
  if ((flags & MAP_ANONYMOUS) == 0 || (flags & MAP_STACK) != 0) return;
  anonymous_.add(range);
  if ((call.arguments[2] & PROT_WRITE) != 0) commit(range);
}

// mremap(address, old bytes, new bytes, flags, new address)
void MemoryTracker::on_mremap(const MemoryCall& call) {
  const AddressRange before = pages(call.arguments[0], call.arguments[1]);
  const AddressRange after = pages(call.result, call.arguments[2]);
  const bool was_anonymous = anonymous_.overlaps(before);
  const bool was_committed = committed_.overlaps(before);
  if (was_committed) decommit(before);
  anonymous_.remove(before);
  if (committed_.overlaps(after)) decommit(after);  // MREMAP_FIXED over a mapping
  anonymous_.remove(after);
  if (was_anonymous) anonymous_.add(after);
  if (was_committed) commit(after);
}

// mprotect(address, bytes, protection): makes a reserve usable, or the reverse.
void MemoryTracker::on_mprotect(const MemoryCall& call) {
  const AddressRange range = pages(call.arguments[0], call.arguments[1]);
  if (!anonymous_.overlaps(range)) return;
  if ((call.arguments[2] & PROT_WRITE) != 0) {
    anonymous_.for_each_touching(range, [&](AddressRange region) {
      const AddressRange part = base::common_part(region, range);
      if (!committed_.covers(part)) commit(part);
    });
  } else if (committed_.overlaps(range)) {
    decommit(range);
  }
}

void MemoryTracker::on_brk(const MemoryCall& call) {
  const uint64_t now = page_up(call.result);
  if (now > break_) commit({break_, now});
  if (now < break_) decommit({now, break_});
  break_ = now;
}

}  // namespace heaptape::allocators
