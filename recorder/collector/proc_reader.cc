#include "recorder/collector/proc_reader.h"

#include <utility>

#include "base/clock.h"

namespace heaptape::recorder {

ProcReader::ProcReader(Read read) : read_(std::move(read)), thread_([this] { run(); }) {}

ProcReader::~ProcReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

std::shared_ptr<const ProcReading> ProcReader::ask(uint32_t pid, std::shared_ptr<CodeNames> names) {
  auto reading = std::make_shared<ProcReading>(pid, std::move(names));
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
    const uint64_t begin_ns = base::monotonic_ns();
    reading->texts = read_(reading->pid);
    if (reading->names != nullptr) reading->names->look();
    reading->took_ns = base::monotonic_ns() - begin_ns;
    if (reading->texts) reading->took_ns -= reading->texts->code.made_ns;
    reading->done.store(true, std::memory_order_release);
    lock.lock();
  }
}

}  // namespace heaptape::recorder
