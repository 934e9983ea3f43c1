#include "recorder/collector/thread_names.h"

#include <algorithm>

#include "base/clock.h"
#include "base/output_file.h"

namespace heaptape::recorder {
namespace {

// A look 10 ms after the thread's beginning, and then each after ten times as long.
constexpr uint64_t kFirstLookNs = 10 * base::kMillisecondNs;
constexpr uint64_t kLastLookNs = 10'000 * base::kMillisecondNs;
constexpr uint64_t kLookFactor = 10;

// The thread `id` still has the ring. So its id is not that of another by now.
bool is_owned_by(const RingHeader& ring, uint32_t id) {
  return (ring.lock.word.load(std::memory_order_acquire) & ~uint32_t{FUTEX_WAITERS}) == id;
}

}  // namespace

void ThreadNames::add(const RingHeader& ring, uint64_t now_ns) {
  if (list_.size() == schema::kMostThreadsListed) return;
  const auto thread = static_cast<uint32_t>(list_.size());
  char name[kThreadNameBytes];  // a copy: the process can write there at any time
  std::copy_n(ring.thread_name, kThreadNameBytes, name);
  name[kThreadNameBytes - 1] = 0;
  list_.push_back({ring.thread_id.load(std::memory_order_relaxed), name});
  looks_.push_back({&ring, thread, now_ns + kFirstLookNs, kFirstLookNs * kLookFactor});
}

void ThreadNames::refresh_if_due(uint32_t pid, uint64_t now_ns) {
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kFirstLookNs;
  std::erase_if(looks_, [&](Look& look) {
    if (now_ns < look.at_ns) return false;
    schema::ThreadIdentity& identity = list_[look.thread];
    const auto comm = base::read_file(
        "/proc/" + std::to_string(pid) + "/task/" + std::to_string(identity.id) + "/comm",
        2 * kThreadNameBytes);
    if (!comm.ok() || !is_owned_by(*look.ring, identity.id)) return true;
    identity.name = comm->substr(0, comm->find('\n'));
    look.at_ns = now_ns + look.next_after_ns;
    look.next_after_ns *= kLookFactor;
    return look.next_after_ns > kLastLookNs * kLookFactor;
  });
}

}  // namespace heaptape::recorder
