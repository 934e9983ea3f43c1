// Reads /proc for samples, in a thread of its own: a process that has its address space locked
// holds up whoever asks, and the thread that drains waits for no program.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "recorder/collector/code_names.h"
#include "recorder/collector/process_sampler.h"

namespace heaptape::recorder {

// One question about a process. Once `done`, the rest is the answer.
struct ProcReading {
  ProcReading(uint32_t process, std::shared_ptr<CodeNames> code_names)
      : pid(process), names(std::move(code_names)) {}

  const uint32_t pid;
  const std::shared_ptr<CodeNames> names;  // that are looked for, too; may be null
  std::optional<ProcTexts> texts;          // nothing: the process is gone
  uint64_t took_ns = 0;  // without the time for unwind tables, which are made once
  std::atomic<bool> done{false};
};

class ProcReader {
 public:
  using Read = std::function<std::optional<ProcTexts>(uint32_t pid)>;

  // `read` is called in the thread.
  explicit ProcReader(Read read);
  // Waits for the reading under way; others are not answered any more.
  ~ProcReader();
  ProcReader(const ProcReader&) = delete;
  ProcReader& operator=(const ProcReader&) = delete;

  // Returns at once. Readings are answered in turn.
  std::shared_ptr<const ProcReading> ask(uint32_t pid, std::shared_ptr<CodeNames> names = nullptr);

 private:
  void run();

  const Read read_;
  std::mutex mutex_;
  std::condition_variable asked_;
  bool stopping_ = false;  // guarded by mutex_, like waiting_
  std::deque<std::shared_ptr<ProcReading>> waiting_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace heaptape::recorder
