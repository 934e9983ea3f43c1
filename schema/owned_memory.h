// Memory beside malloc, by owner: in tapes, reports and the names of metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heaptape::schema {

struct OwnedMemory {
  std::string owner;  // is_owner_name
  uint64_t bytes = 0;

  bool operator==(const OwnedMemory&) const = default;
};
// The name of an owner is that of the library or program that mapped the memory: no directory and
// no version ("libarrow", "python3.11"), or what the kernel or a run-time calls it. It can be part
// of a metric's name.
inline constexpr size_t kMaxOwnerBytes = 64;
inline constexpr size_t kMostOwners = 64;     // of one sample
inline constexpr char kDataOwner[] = "data";  // variables of programs and libraries
inline constexpr char kHeapOwner[] = "heap";  // below brk(2), of no block
inline constexpr char kLibcOwner[] = "libc";  // arenas of glibc without a block
constexpr bool is_fixed_owner(std::string_view name) {
  return name == kDataOwner || name == kHeapOwner || name == kLibcOwner;
}
constexpr bool is_owner_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '+' || c == '.';
}
constexpr bool is_owner_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxOwnerBytes) return false;
  for (const char c : name) {
    if (!is_owner_character(c)) return false;
  }
  return true;
}

// The name of a file as an owner of memory, without directory and version: "libarrow" for
// /usr/lib/libarrow.so.1200. Characters that no name may have become '_'; empty if
// the path has no name. Names with another meaning in texts ("malloc", "data") get a '_' more.
std::string owner_of_file(std::string_view path);
// The same for the name of anonymous memory in /proc/PID/maps: "v8" for "[anon:v8]"; empty if it is
// none.
std::string owner_of_kernel_name(std::string_view name);

// Appends an owner read from a file. Omits what cannot be: a name that is none or that is there
// already, one owner too many, and more than `rest_bytes`, which it reduces by what it adds.
void add_owner(std::string_view name, uint64_t bytes, uint64_t& rest_bytes,
               std::vector<OwnedMemory>& owners);

}  // namespace heaptape::schema
