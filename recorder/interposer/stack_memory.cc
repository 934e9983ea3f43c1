#include "recorder/interposer/stack_memory.h"

#include <sys/resource.h>

#include <cstring>

#include "base/address/pages.h"
#include "recorder/interposer/attach.h"
#include "recorder/interposer/foreign_bytes.h"
#include "recorder/program/raw_file.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr uint32_t kMostLooks = 4;
constexpr uintptr_t kMostNews = uintptr_t{1} << 20;  // bytes of a stack that are probed at once
constexpr uintptr_t kPage = base::kPageBytes;
constexpr uintptr_t kNoPage = 1;

uintptr_t take_hex(const char*& at) {
  uintptr_t value = 0;
  for (;; ++at) {
    const char digit = *at;
    if (digit >= '0' && digit <= '9') {
      value = value << 4 | static_cast<uintptr_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value = value << 4 | static_cast<uintptr_t>(digit - 'a' + 10);
    } else {
      return value;
    }
  }
}

// The thread control block, which glibc and musl put at the end of the stacks they make.
uintptr_t thread_control_block() {
  uintptr_t block;
  asm("mov %%fs:0, %0" : "=r"(block));
  return block;
}

// How far the first thread's stack may grow if nothing else is mapped: with no limit, or a high
// one, mappings may come closer than that.
uintptr_t stack_limit() {
  constexpr uintptr_t kMost = uintptr_t{64} << 20;  // the kernel leaves 128 MiB
  rlimit limit{};
  const long failed = raw_syscall(SYS_prlimit64, 0, RLIMIT_STACK, 0, as_long(&limit));
  return failed != 0 || limit.rlim_cur > kMost ? 0 : limit.rlim_cur;
}

// Whether everything between two nearby addresses can be read.
bool is_mapped(uintptr_t from, uintptr_t to) {
  if (from >= to || to - from > kMostNews) return false;
  if (process.quiet.load(std::memory_order_relaxed)) return false;
  for (uintptr_t page = from & ~(kPage - 1); page < to; page += kPage) {
    if (!is_page_readable(page)) return false;
  }
  return true;
}

}  // namespace

void StackMemory::begin(uintptr_t frame) {
  here_ = frame;
  here_end_ = (frame | (kPage - 1)) + 1;
  copied_ = kNoPage;
  if (frame - low_ >= high_ - low_) [[unlikely]]
    learn(frame);
  own_from_ = frame - low_ < high_ - low_ ? frame : low_;
}

// The frame is on another stack than the thread's own, or deeper on it than any before.
void StackMemory::learn(uintptr_t frame) {
  if (high_ == 0) {
    if (looks_++ < kMostLooks) look_up(frame);
    return;
  }
  const bool has_room = room_ != 0 && frame >= room_ && frame < low_;
  const bool is_deeper = has_room || is_mapped(frame, low_);
  if (is_deeper) low_ = frame;
}

void StackMemory::look_up(uintptr_t frame) {
  if (process.quiet.load(std::memory_order_relaxed)) return;
  const uintptr_t block = thread_control_block();
  if (is_mapped(frame, block)) {
    low_ = frame;
    high_ = block;
  } else {
    read_maps(frame);
  }
}

bool StackMemory::read_copy(uintptr_t address, uintptr_t& word) {
  const uintptr_t page = address & ~(kPage - 1);
  if (page != copied_) {
    copied_ = kNoPage;
    if (copy_foreign(page, bytes_, kPage) != kPage) return false;
    copied_ = page;
  }
  std::memcpy(&word, bytes_ + (address - page), sizeof word);
  return true;
}

void StackMemory::read_maps(uintptr_t frame) {
  const RawFile maps(AT_FDCWD, "/proc/self/maps");
  uintptr_t below = 0;  // the end of the previous mapping
  uint64_t offset = 0;
  size_t held = 0;
  while (maps.valid()) {
    const size_t got = maps.read(offset, bytes_ + held, kBytes - 1 - held);
    if (got == 0) return;
    offset += got;
    held += got;
    bytes_[held] = 0;
    char* line = bytes_;
    while (char* const end = std::strchr(line, '\n')) {
      *end = 0;
      if (take_line(line, frame, below)) return;
      const char* rest = std::strchr(line, '-');
      if (rest != nullptr) below = take_hex(++rest);
      line = end + 1;
    }
    held -= static_cast<size_t>(line - bytes_);
    std::memmove(bytes_, line, held);
  }
}

// Takes the mapping in a line "begin-end permissions ... [path]" for the thread's own stack, if it
// is: `frame` lies in it, and it is the process's first, or ends in the thread's control block.
// Returns true when the search is over.
bool StackMemory::take_line(const char* line, uintptr_t frame, uintptr_t below) {
  const char* at = line;
  const uintptr_t begin = take_hex(at);
  const uintptr_t end = take_hex(++at);
  const char* const name = std::strrchr(at, '[');
  const bool is_first = name != nullptr && std::strcmp(name, "[stack]") == 0;
  const uintptr_t limit = is_first ? stack_limit() : 0;
  const uintptr_t grown = limit < end && end - limit > below ? end - limit : below;
  const uintptr_t low = limit != 0 && grown < begin ? grown : begin;
  if (frame < low || frame >= end) return false;
  const uintptr_t block = thread_control_block();
  const bool has_block = block > frame && block < end;
  if (!is_first && !has_block) return true;
  low_ = frame;
  room_ = is_first && limit != 0 ? low : 0;
  high_ = has_block ? block : end;
  return true;
}

}  // namespace heaptape::recorder
