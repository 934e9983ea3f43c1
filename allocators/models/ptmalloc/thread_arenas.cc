#include "allocators/models/ptmalloc/thread_arenas.h"

namespace heaptape::allocators::ptmalloc {
namespace {

constexpr uint64_t kArenasPerCore = 8;

}  // namespace

ThreadArenas::ThreadArenas(ProcessMemory& process, uint64_t arena_max, uint64_t cores)
    : process_(process), arena_max_(arena_max), cores_(cores) {
  arenas_.push_back(std::make_unique<Arena>(process_, 0));
  attached_threads_.push_back(0);
}

ThreadState& ThreadArenas::thread(uint32_t number) {
  while (threads_.size() <= number) threads_.emplace_back();
  return threads_[number];
}

Arena& ThreadArenas::attach(uint64_t bytes) {
  const uint32_t index = started_ ? choose(bytes) : 0;
  started_ = true;
  ++attached_threads_[index];
  return *arenas_[index];
}

uint32_t ThreadArenas::choose(uint64_t bytes) {
  if (!idle_.empty()) {
    const uint32_t index = idle_.back();
    idle_.pop_back();
    return index;
  }
  if (limit_ == 0) {
    if (arena_max_ != 0) {
      limit_ = arena_max_;
    } else if (arenas_.size() > arena_test_) {
      limit_ = kArenasPerCore * cores_;
    }
  }
  const auto count = static_cast<uint32_t>(arenas_.size());
  if ((limit_ == 0 || count < limit_) && create(bytes)) return count;
  const uint32_t index = next_to_use_;
  next_to_use_ = index == 0 ? count - 1 : index - 1;
  return index;
}

bool ThreadArenas::create(uint64_t bytes) {
  if (arenas_.size() == kMaxArenas) return false;
  auto arena = std::make_unique<Arena>(process_, static_cast<uint32_t>(arenas_.size()));
  if (!arena->begin_heaps(bytes)) return false;
  arenas_.push_back(std::move(arena));
  attached_threads_.push_back(0);
  return true;
}

void ThreadArenas::detach(ThreadState& thread) {
  if (thread.cache != nullptr) {
    for (uint32_t units = kMinUnits; units <= kCacheMaxUnits; ++units) {
      for (Chunk chunk; (chunk = thread.cache->pop(units)) != kNoChunk;) {
        owner(chunk).release(chunk, nullptr);
      }
    }
    owner(thread.cache_chunk).release(thread.cache_chunk, nullptr);
  }
  if (thread.arena != nullptr) {
    const uint32_t index = thread.arena->index();
    if (--attached_threads_[index] == 0) idle_.push_back(index);
  }
  thread.cache_storage.reset();
  thread.cache = nullptr;
  thread.arena = nullptr;
}

}  // namespace heaptape::allocators::ptmalloc
