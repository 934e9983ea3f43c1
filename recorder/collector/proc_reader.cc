#include "recorder/collector/proc_reader.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace heaptape::recorder {

ProcReader::ProcReader(Read read, Then then)
    : read_(std::move(read)), then_(std::move(then)), thread_([this] { run(); }) {}

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
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
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
