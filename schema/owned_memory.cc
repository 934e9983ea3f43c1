#include "schema/owned_memory.h"

#include <algorithm>

namespace heaptape::schema {

void add_owner(std::string_view name, uint64_t bytes, uint64_t& rest_bytes,
               std::vector<OwnedMemory>& owners) {
  bytes = std::min(bytes, rest_bytes);
  if (owners.size() == kMostOwners || !is_owner_name(name) || bytes == 0) return;
  if (std::ranges::find(owners, name, &OwnedMemory::owner) != owners.end()) return;
  rest_bytes -= bytes;
  owners.push_back({std::string(name), bytes});
}

}  // namespace heaptape::schema
