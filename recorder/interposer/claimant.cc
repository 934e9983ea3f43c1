#include "recorder/interposer/claimant.h"

#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// A list head as glibc has it: behind a pointer to the last entry, so that a head looks like an
// entry from behind.
struct OwnList {
  void* previous;
  robust_list_head head;
};

// For threads whose libc has registered none: musl's, until they lock a robust mutex, and those
// made by a bare clone(2). Not in the thread's own memory, which some unmap before they end.
constexpr uint32_t kOwnLists = 4096;
OwnList own_lists[kOwnLists];
std::atomic<uint32_t> own_lists_used{0};

robust_list_head* register_own_list() {
  const uint32_t index = own_lists_used.fetch_add(1);
  if (index >= kOwnLists) return nullptr;
  robust_list_head& head = own_lists[index].head;
  head = {{&head.list}, kFutexOffset, nullptr};
  const long failed = raw_syscall(SYS_set_robust_list, as_long(&head), sizeof head);
  return failed == 0 ? &head : nullptr;
}

robust_list_head* registered_list() {
  robust_list_head* head = nullptr;
  size_t bytes = 0;
  if (raw_syscall(SYS_get_robust_list, 0, as_long(&head), as_long(&bytes)) != 0) return nullptr;
  return head != nullptr ? head : register_own_list();
}

// An entry's address is that of its `next`, or of the list's head, with bit 0 for another kind of
// mutex. Before it lies the address of the entry before.
void** previous_of(void* entry) {
  return reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(entry) & ~uintptr_t{1}) - 1;
}

void link(robust_list_head& head, OwnerLock& lock) {
  void* const first = head.list.next;
  lock.next = first;
  lock.previous = &head;
  *previous_of(first) = &lock.next;
  head.list.next = reinterpret_cast<robust_list*>(&lock.next);
}

}  // namespace

Claimant::Claimant(Thread thread) {
  if (thread == Thread::kBorrowed) return;
  robust_list_head* const list = registered_list();
  if (list == nullptr || list->futex_offset != kFutexOffset) return;
  list_ = list;
  owner_ = static_cast<uint32_t>(raw_syscall(SYS_gettid));
}

// In the order that get_robust_list(2) asks for: a thread that is killed in between is found by
// list_op_pending.
bool Claimant::try_claim(OwnerLock& lock) const {
  uint32_t expected = 0;
  if (list_ == nullptr) return lock.word.compare_exchange_strong(expected, owner_);
  if (lock.word.load(std::memory_order_relaxed) != 0) return false;
  auto& pending = *const_cast<robust_list* volatile*>(&list_->list_op_pending);
  pending = reinterpret_cast<robust_list*>(&lock.next);
  const bool claimed = lock.word.compare_exchange_strong(expected, owner_);
  if (claimed) link(*list_, lock);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  pending = nullptr;
  return claimed;
}

}  // namespace heaptape::recorder
