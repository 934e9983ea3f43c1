#include "recorder/interposer/environment.h"

#include <unistd.h>

#include <cstring>

#include "recorder/program/preload_list.h"
#include "recorder/ring/handshake.h"

// From glibc's loader: the address of argc. musl has none, and sets `environ` before anything runs.
extern "C" __attribute__((weak)) void* __libc_stack_end;

namespace heaptape::recorder {
namespace {

constexpr char kPreload[] = "LD_PRELOAD";
char* no_entries[] = {nullptr};

char* value_of(char* entry, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1
                                                                        : nullptr;
}

// Copies the list without our library and one separator, and ends it with 0; `out` may be
// `preload`. Returns the end; null if nothing is left.
char* write_others(const char* preload, char* out) {
  char* end = out;
  const auto keep = [&end](const char* begin, const char* until) {
    std::memmove(end, begin, static_cast<size_t>(until - begin));
    end += until - begin;
  };
  const char* kept_from = preload;
  bool ends_with_ours = false;
  for (PreloadList list(preload); list.next();) {
    ends_with_ours = list.is_ours();
    if (!ends_with_ours) continue;
    keep(kept_from, list.name());
    kept_from = list.name() + list.length();
    if (*kept_from != 0) ++kept_from;
  }
  keep(kept_from, kept_from + std::strlen(kept_from));
  if (ends_with_ours && end != out) --end;
  if (end == out) return nullptr;
  *end++ = 0;
  return end;
}

}  // namespace

char** environment() {
  if (environ != nullptr) return environ;
  if (&__libc_stack_end == nullptr || __libc_stack_end == nullptr) return no_entries;
  auto* argc = static_cast<long*>(__libc_stack_end);
  return reinterpret_cast<char**>(argc + 1 + *argc + 1);
}

char* find_variable(char* const* entries, const char* name) {
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    if (char* value = value_of(*entries, name)) return value;
  }
  return nullptr;
}

void leave_environment() {
  char** kept = environment();
  for (char** entry = kept; *entry != nullptr; ++entry) {
    if (value_of(*entry, kSessionVariable) != nullptr) continue;
    char* const preload = value_of(*entry, kPreload);
    // In place: nothing is written before it has been read.
    if (preload != nullptr && write_others(preload, preload) == nullptr) continue;
    *kept++ = *entry;
  }
  *kept = nullptr;
}

RewrittenEnvironment::RewrittenEnvironment(char* const* entries, Ours ours)
    : entries_(entries), ours_(ours), bytes_(sizeof(char*)) {
  for (; *entries != nullptr; ++entries) {
    bytes_ += sizeof(char*);
    if (value_of(*entries, kPreload) != nullptr) bytes_ += std::strlen(*entries) + 1;
  }
}

// As write_others.
char* RewrittenEnvironment::write_preload(const char* preload, char* out) const {
  PreloadList list(preload);
  while (ours_ == Ours::kFirst && list.next() && !list.is_ours()) {
  }
  if (ours_ == Ours::kOut || list.length() == 0) return write_others(preload, out);
  std::memcpy(out, list.name(), list.length());
  char* end = out + list.length();
  *end++ = ':';
  char* const others_end = write_others(preload, end);
  if (others_end != nullptr) return others_end;
  end[-1] = 0;
  return end;
}

char** RewrittenEnvironment::write(void* memory) const {
  auto* const first = static_cast<char**>(memory);
  char** next = first;
  size_t count = 1;
  for (char* const* entry = entries_; *entry != nullptr; ++entry) ++count;
  char* text = reinterpret_cast<char*>(first + count);
  for (char* const* entry = entries_; *entry != nullptr; ++entry) {
    if (ours_ == Ours::kOut && value_of(*entry, kSessionVariable) != nullptr) continue;
    const char* const preload = value_of(*entry, kPreload);
    *next = *entry;
    if (preload != nullptr) {
      std::memcpy(text, "LD_PRELOAD=", sizeof kPreload);
      char* const end = write_preload(preload, text + sizeof kPreload);
      if (end == nullptr) continue;
      *next = text;
      text = end;
    }
    ++next;
  }
  *next = nullptr;
  return first;
}

}  // namespace heaptape::recorder
