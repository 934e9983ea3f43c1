#include "replayer/engine/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "replayer/engine/helper_thread.h"

namespace heaptape::replayer {

using base::Status;

void for_each_in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 1;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto take_turns = [&](size_t first) {
    try {
      for (size_t i = first; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  others.reserve(threads);
  while (others.size() + 1 < std::min(threads, count)) {
    std::jthread other = helper_thread([&] { take_turns(next++); });
    if (!other.joinable()) break;
    others.push_back(std::move(other));
  }
  take_turns(0);
  others.clear();
  if (thrown) std::rethrow_exception(thrown);
}

Status replay_side_by_side(const std::vector<std::unique_ptr<ReplayRun>>& runs,
                           const std::vector<const PlannedBatch*>& batches, size_t jobs) {
  std::vector<Status> statuses(runs.size());
  const auto take_all = [&](size_t run) {
    for (const PlannedBatch* const batch : batches) {
      if (statuses[run].ok()) statuses[run] = runs[run]->take(*batch);
    }
  };
  std::vector<size_t> plugins;
  std::vector<size_t> others;
  for (size_t i = 0; i < runs.size(); ++i) (runs[i]->is_plugin() ? plugins : others).push_back(i);
  for_each_in_threads(others.size() + 1, jobs, [&](size_t i) {
    if (i != 0) return take_all(others[i - 1]);
    std::ranges::for_each(plugins, take_all);
  });
  const auto failed = std::ranges::find_if_not(statuses, &Status::ok);
  return failed == statuses.end() ? Status() : *failed;
}

}  // namespace heaptape::replayer
