#include "recorder/collector/proc_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

constexpr auto kChoreEvery = std::chrono::milliseconds(100);

}  // namespace

ProcReader::ProcReader(Read read, Then then, std::function<void()> chore)
    : read_(std::move(read)),
      then_(std::move(then)),
      chore_(std::move(chore)),
      thread_([this] { run(); }) {}

ProcReader::~ProcReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

std::shared_ptr<const ProcReading> ProcReader::ask(ProcQuestion question) {
  auto reading = std::make_shared<ProcReading>(std::move(question));
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(reading);
  }
  asked_.notify_one();
  return reading;
}

void ProcReader::run() {
  auto next_chore = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (chore_ && std::chrono::steady_clock::now() >= next_chore) {
      lock.unlock();
      chore_();
      next_chore = std::chrono::steady_clock::now() + kChoreEvery;
      lock.lock();
    }
    const auto is_wanted = [this] { return stopping_ || !waiting_.empty(); };
    if (!chore_) {
      asked_.wait(lock, is_wanted);
    } else if (!asked_.wait_until(lock, next_chore, is_wanted)) {
      continue;
    }
    if (stopping_) return;
    const std::shared_ptr<ProcReading> reading = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const uint64_t begin_ns = base::thread_cpu_ns();
    const ProcQuestion& asked = reading->asked;
    reading->texts = read_(asked.pid, asked.with_pages);
    const bool is_another = reading->texts && !reading->texts->has_session;
    if (asked.names != nullptr && !is_another) asked.names->look();
    reading->took_ns = base::thread_cpu_ns() - begin_ns;
    if (reading->texts) {
      reading->took_ns -= std::min(reading->took_ns, reading->texts->code.cpu_ns);
    }
    reading->done.store(true, std::memory_order_release);
    if (then_ && reading->texts) then_(*reading);
    lock.lock();
  }
}

}  // namespace heaptape::recorder
