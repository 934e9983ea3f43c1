#include "replayer/engine/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace heaptape::replayer {

using base::Status;

void for_each_in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto take_turns = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  others.reserve(threads);
  try {
    while (others.size() + 1 < std::min(threads, count)) others.emplace_back(take_turns);
  } catch (const std::system_error&) {  // a limit on threads or on address space
  }
  take_turns();
  others.clear();
  if (thrown) std::rethrow_exception(thrown);
}

Status replay_side_by_side(const std::vector<std::unique_ptr<ReplayRun>>& runs,
                           const std::vector<const PlannedBatch*>& batches, size_t jobs) {
  std::vector<Status> statuses(runs.size());
  for_each_in_threads(runs.size(), jobs, [&](size_t i) {
    for (const PlannedBatch* const batch : batches) {
      statuses[i] = runs[i]->take(*batch);
      if (!statuses[i].ok()) return;
    }
  });
  const auto failed = std::ranges::find_if_not(statuses, &Status::ok);
  return failed == statuses.end() ? Status() : *failed;
}

}  // namespace heaptape::replayer
