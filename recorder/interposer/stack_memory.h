// Which parts of a thread's stacks may be read, and how, so that no walk faults.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// For one thread. All zero at first; has no constructor, for memory that comes so from mmap.
//
// The stack that the thread was given stays mapped while it lives. Its end is looked up in one of
// its first walks: it is the thread's control block, if all pages up to there can be read; else
// /proc/self/maps says, which takes 50 us and more. On any other stack (a coroutine's, a signal
// handler's) only the page in use is sure to last. Another thread may unmap the rest at any moment,
// so the kernel copies it, a page at a time, at 1 us each. (A stack right below the thread's own,
// within 1 MiB and without a guard between, is taken for a part of it.)
class StackMemory {
 public:
  // Begins a walk at this address, on the stack that the thread is on now.
  void begin(uintptr_t frame);

  // Reads the word at this address. False if it cannot be read.
  bool read(uintptr_t address, uintptr_t& word) {
    constexpr uintptr_t kWord = sizeof(uintptr_t);
    if (address % kWord != 0) return false;
    const bool is_own = address >= own_from_ && address < high_;
    if (!is_own && (address < here_ || address >= here_end_)) return read_copy(address, word);
    word = *reinterpret_cast<const uintptr_t*>(address);
    return true;
  }

 private:
  static constexpr size_t kBytes = 8192;  // more than a line of /proc/self/maps has

  void learn(uintptr_t frame);
  void look_up(uintptr_t frame);
  void read_maps(uintptr_t frame);
  bool take_line(const char* line, uintptr_t frame, uintptr_t below);
  bool read_copy(uintptr_t address, uintptr_t& word);

  uintptr_t low_;       // of its own stack: the deepest frame so far
  uintptr_t high_;      // its end; 0 if unknown
  uintptr_t room_;      // the first thread's stack may grow down to here; 0: another thread's
  uintptr_t own_from_;  // in this walk: from here to high_ it can be read
  uintptr_t here_;      // in this walk: it begins here, and up to
  uintptr_t here_end_;  // here, the end of the page, it can be read
  uintptr_t copied_;    // in this walk: the page that is in `bytes_`, if any
  uint32_t looks_;
  alignas(8) char bytes_[kBytes];  // the copy, or lines of /proc/self/maps
};

}  // namespace heaptape::recorder
