#include "recorder/interposer/stack_log_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "recorder/interposer/producer.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

std::atomic<StackLog*> newest_log{nullptr};  // of all that this process has; it only grows
std::atomic<StackLog*> spare_logs{nullptr};  // of its parent; it only shrinks

void add_log(StackLog* log) {
  StackLog* before = newest_log.load();
  do {
    log->made_before = before;
  } while (!newest_log.compare_exchange_weak(before, log));
}

// Null if there is none. A walk that the fork interrupted may still go on in its log.
StackLog* take_spare_log() {
  StackLog* log = spare_logs.load();
  while (log != nullptr) {
    if (!spare_logs.compare_exchange_weak(log, log->made_before)) continue;
    if (!log->is_walking) break;
    log = spare_logs.load();
  }
  if (log == nullptr) return nullptr;
  empty_stack_log(*log);
  add_log(log);
  return log;
}

}  // namespace

StackLog* make_stack_log() {
  if (StackLog* const spare = take_spare_log()) return spare;
  if (process.quiet.load(std::memory_order_relaxed)) return nullptr;
  const long base = raw_syscall(SYS_mmap, 0, sizeof(StackLog), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base < 0) return nullptr;
  auto* const log = reinterpret_cast<StackLog*>(base);
  add_log(log);
  return log;
}

void empty_stack_log(StackLog& log) {
  StackLog* const made_before = log.made_before;
  log.numbers_in_ring.clear();
  std::memset(static_cast<void*>(&log), 0, sizeof log);
  log.made_before = made_before;
}

void inherit_stack_logs() {
  StackLog* const parents = newest_log.exchange(nullptr);
  if (parents == nullptr) return;
  StackLog* last = parents;
  while (last->made_before != nullptr) last = last->made_before;
  last->made_before = spare_logs.load();
  spare_logs.store(parents);
}

}  // namespace heaptape::recorder
