// Heaps beside malloc inside programs and libraries, and what reports say about them.
#pragma once

#include <string>
#include <vector>

namespace heaptape::schema {

// A program or library with allocators inside, for calls of its own that no preloaded library sees:
// schema/tape/inner_heaps.h.
struct InnerAllocator {
  std::string file;                   // its path, as the process had it mapped
  std::vector<std::string> families;  // at least one

  bool operator==(const InnerAllocator&) const = default;
};

// "jemalloc and the Go heap".
std::string heaps_text(const std::vector<std::string>& heaps);

// The owner with the heaps found in its file, if there are any: "python3.11 (pymalloc)", "node (V8
// heap)". Most of such an owner's memory is theirs.
std::string owner_text(const std::string& owner, const std::vector<InnerAllocator>& files);

// Says how to see or to bound the memory of these heaps inside `file`, a sentence each without its
// full stop: "USE_ZEND_ALLOC=0 makes PHP call malloc". Heaps that are not known have none.
std::vector<std::string> heap_remedies(const std::vector<std::string>& heaps,
                                       const std::string& file);

}  // namespace heaptape::schema
