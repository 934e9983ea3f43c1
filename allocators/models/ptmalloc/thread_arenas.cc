#include "allocators/models/ptmalloc/thread_arenas.h"

namespace heaptape::allocators::ptmalloc {
namespace {

constexpr uint64_t kArenasPerCore = 8;
constexpr size_t kArenaTest = 8;  // the cores are counted once there are more arenas

}  // namespace

ThreadArenas::ThreadArenas(ProcessMemory& process, uint64_t arena_max, uint64_t cores)
    : process_(process), arena_max_(arena_max), cores_(cores) {
  arenas_.push_back(std::make_unique<Arena>(process_, 0));
}

ThreadState& ThreadArenas::thread(uint32_t number) {
  while (threads_.size() <= number) threads_.emplace_back();
  return threads_[number];
}

Arena& ThreadArenas::attach(uint64_t bytes) {
  if (!started_) {
    started_ = true;
    return main();
  }
  if (limit_ == 0) {
    if (arena_max_ != 0) {
      limit_ = arena_max_;
    } else if (arenas_.size() > kArenaTest) {
      limit_ = kArenasPerCore * cores_;
    }
  }
  if (limit_ == 0 || arenas_.size() < limit_) {
    if (Arena* const arena = create(bytes)) return *arena;
  }
  Arena& reused = *arenas_[next_to_use_];
  next_to_use_ = next_to_use_ == 0 ? arenas_.size() - 1 : next_to_use_ - 1;
  return reused;
}

Arena* ThreadArenas::create(uint64_t bytes) {
  if (arenas_.size() == kMaxArenas) return nullptr;
  auto arena = std::make_unique<Arena>(process_, static_cast<uint32_t>(arenas_.size()));
  if (!arena->begin_heaps(bytes)) return nullptr;
  arenas_.push_back(std::move(arena));
  return arenas_.back().get();
}

}  // namespace heaptape::allocators::ptmalloc
