// Makes things in a thread of its own, ahead of who takes them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "replayer/engine/helper_thread.h"

namespace heaptape::replayer {

// Example, with batches of a tape of which each is taken before the next is asked for:
//
//   Ahead<Batch> batches({.items = 3, .kept = 1}, [&](Batch& batch) { return read(batch); });
//   for (;;) {
//     HEAPTAPE_ASSIGN_OR_RETURN(const Batch* batch, batches.next());
//     if (batch == nullptr) break;
//   }
//
// `make` overwrites an item, perhaps one that was taken before, and returns false instead when
// there are no more. It runs in the other thread, from the constructor to the destructor, which
// waits for the one call that may be under way; or in next(), where there is no room for a thread.
// What it throws comes out of next(). One thread takes.
template <typename Item>
class Ahead {
 public:
  using Make = std::function<base::Result<bool>(Item&)>;
  struct Room {
    size_t items;  // there are at most so many; more than `kept`
    size_t kept;   // so many that were taken stay as they are: the last ones
  };

  Ahead(Room room, Make make) : items_(room.items), kept_(room.kept), make_(std::move(make)) {
    thread_ = helper_thread([this] { run(); });
  }
  ~Ahead() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // The next item; null when there are no more. An error is the last that comes.
  base::Result<Item*> next() {
    std::unique_lock lock(mutex_);
    ++taken_;
    changed_.notify_all();
    if (!thread_.joinable() && ended_ == 0)
      ++(make(items_[made_ % items_.size()]) ? made_ : ended_);
    changed_.wait(lock, [this] { return made_ >= taken_ || ended_; });
    if (made_ >= taken_) return &items_[(taken_ - 1) % items_.size()];
    if (thrown_) std::rethrow_exception(thrown_);
    if (!status_.ok()) return status_.error();
    return nullptr;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      changed_.wait(lock, [this] { return stopping_ || has_room(); });
      if (stopping_) return;
      Item& item = items_[made_ % items_.size()];
      lock.unlock();
      const bool is_made = make(item);
      lock.lock();
      ++(is_made ? made_ : ended_);
      changed_.notify_all();
    }
  }
  bool make(Item& item) {
    try {
      base::Result<bool> made = make_(item);
      if (made.ok()) return *made;
      status_ = made.error();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return false;
  }
  bool has_room() const {
    const size_t released = taken_ > kept_ ? taken_ - kept_ : 0;
    return made_ < released + items_.size();
  }

  std::vector<Item> items_;
  const size_t kept_;
  const Make make_;
  std::mutex
      mutex_;  // of what follows, but for status_ and thrown_, which are written before ended_
  std::condition_variable changed_;
  size_t made_ = 0;
  size_t taken_ = 0;  // asked for
  size_t ended_ = 0;  // 1: no more come
  bool stopping_ = false;
  base::Status status_;
  std::exception_ptr thrown_;
  std::jthread thread_;  // none: next() makes
};

}  // namespace heaptape::replayer
