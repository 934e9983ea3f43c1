// The libraries that LD_PRELOAD names, and which of them is ours.
#pragma once

#include <cstddef>
#include <cstring>

#include "recorder/ring/handshake.h"

namespace heaptape::recorder {

// Iterates over the names in a value of LD_PRELOAD, separated by colons and spaces:
//   for (PreloadList list(value); list.next();) ... list.name(), list.length() ...
// Owns nothing.
class PreloadList {
 public:
  explicit PreloadList(const char* value) : end_(value) {}

  bool next() {
    begin_ = end_ + std::strspn(end_, ": ");
    end_ = begin_ + std::strcspn(begin_, ": ");
    return begin_ != end_;
  }
  const char* name() const { return begin_; }  // not ended by 0
  size_t length() const { return static_cast<size_t>(end_ - begin_); }
  // The part after the last '/'.
  const char* base_name() const {
    const char* base = end_;
    while (base != begin_ && base[-1] != '/') --base;
    return base;
  }
  bool is_ours() const {
    constexpr size_t kLength = sizeof kPreloadName - 1;
    const char* const base = base_name();
    return static_cast<size_t>(end_ - base) == kLength &&
           std::memcmp(base, kPreloadName, kLength) == 0;
  }

 private:
  const char* begin_ = nullptr;
  const char* end_;
};

}  // namespace heaptape::recorder
