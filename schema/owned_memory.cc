#include "schema/owned_memory.h"

#include <algorithm>

namespace heaptape::schema {
namespace {

std::string plain_name(std::string_view name) {
  std::string plain(name.substr(0, kMaxOwnerBytes - 1));
  std::ranges::replace_if(plain, [](char c) { return !is_owner_character(c); }, '_');
  const bool is_taken = plain == "malloc" || plain == "stacks" || plain == "other";
  return is_taken || is_fixed_owner(plain) ? plain + "_" : plain;
}

}  // namespace

std::string owner_of_file(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  path.remove_prefix(path.rfind('/') + 1);
  // "libz.so.1", "_json.cpython-311-x86_64-linux-gnu.so", "ld-linux-x86-64.so.2"
  for (const std::string_view behind : {".cpython-", ".abi3.", ".so"}) {
    const size_t at = path.find(behind);
    if (at != path.npos && at != 0) path = path.substr(0, at);
  }
  return plain_name(path);
}

std::string owner_of_kernel_name(std::string_view name) {
  constexpr std::string_view kAnonymous = "[anon:";
  if (!name.starts_with(kAnonymous) || !name.ends_with(']')) return "";
  name.remove_prefix(kAnonymous.size());
  name.remove_suffix(1);
  return plain_name(name);
}

void add_owner(std::string_view name, uint64_t bytes, uint64_t& rest_bytes,
               std::vector<OwnedMemory>& owners) {
  bytes = std::min(bytes, rest_bytes);
  if (owners.size() == kMostOwners || !is_owner_name(name) || bytes == 0) return;
  if (std::ranges::find(owners, name, &OwnedMemory::owner) != owners.end()) return;
  rest_bytes -= bytes;
  owners.push_back({std::string(name), bytes});
}

}  // namespace heaptape::schema
