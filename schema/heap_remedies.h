// The sentences of reports about heaps beside malloc: see inner_heaps() of
// schema/tape/inner_heaps.h.
#pragma once

#include <string>
#include <vector>

namespace heaptape::schema {

// "jemalloc and the Go heap".
std::string heaps_text(const std::vector<std::string>& heaps);

// Says how to see or to bound the memory of these heaps inside `file`, a sentence each without its
// full stop: "USE_ZEND_ALLOC=0 makes PHP call malloc". Heaps that are not known have none.
std::vector<std::string> heap_remedies(const std::vector<std::string>& heaps,
                                       const std::string& file);

}  // namespace heaptape::schema
