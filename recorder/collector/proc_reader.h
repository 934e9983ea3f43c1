// Reads /proc for samples, and does what else may have to wait for a process (that has its address
// space locked, say), in a thread of its own: the thread that drains waits for no program.
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
#include "recorder/collector/inner_allocators.h"
#include "recorder/collector/process_sampler.h"

namespace heaptape::recorder {

struct ProcQuestion {
  uint32_t pid = 0;
  WithPages with_pages = WithPages::kNo;
  std::shared_ptr<CodeNames> names = {};               // that are looked for, too; may be null
  std::shared_ptr<ProcessInnerAllocators> inner = {};  // for `then`; may be null
};

// Once `done`, the rest is the answer.
struct ProcReading {
  explicit ProcReading(ProcQuestion question) : asked(std::move(question)) {}

  const ProcQuestion asked;
  std::optional<ProcTexts> texts;  // nothing: the process is gone
  // Processor time: on a busy machine samples are not rarer. Excludes unwind tables, which are made
  // once per file.
  uint64_t took_ns = 0;
  std::atomic<bool> done{false};
};

class ProcReader {
 public:
  using Read = std::function<std::optional<ProcTexts>(uint32_t pid, WithPages with_pages)>;

  using Then = std::function<void(const ProcReading& reading)>;

  // All are called in the thread. `then` runs after the reading is done; not at all if it is empty
  // or the process is gone. `chore` runs ten times a second, or less often while readings take
  // long.
  explicit ProcReader(Read read, Then then = {}, std::function<void()> chore = {});
  // Waits for the reading under way; others are not answered any more.
  ~ProcReader();
  ProcReader(const ProcReader&) = delete;
  ProcReader& operator=(const ProcReader&) = delete;

  // Returns at once. Readings are answered in turn.
  std::shared_ptr<const ProcReading> ask(ProcQuestion question);

 private:
  void run();

  const Read read_;
  const Then then_;
  const std::function<void()> chore_;
  std::mutex mutex_;
  std::condition_variable asked_;
  bool stopping_ = false;  // guarded by mutex_, like waiting_
  std::deque<std::shared_ptr<ProcReading>> waiting_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace heaptape::recorder
