// What the files of malloc libraries say of them, for processes whose libraries do not say it
// themselves: jemalloc, whose version nobody can ask without taking memory, and all that the
// interposer does not know.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "recorder/ring/allocator_facts.h"
#include "schema/tape/malloc_library.h"

namespace heaptape::recorder {

// Looks at each file once, however many processes have it. One thread: not the one that drains, for
// a file may be slow.
class LibraryFacts {
 public:
  // What `said` by the process `pid` leaves open, by the file at its path as that process sees it:
  // in its root, or from its working directory.
  AllocatorFacts complete(const AllocatorFacts& said, uint32_t pid);

 private:
  // Device, inode, time of the last change.
  using FileKey = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;

  std::map<FileKey, schema::MallocLibrary> known_;
};

}  // namespace heaptape::recorder
