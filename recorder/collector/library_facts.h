// Reads families and versions in the files of malloc libraries, for processes whose libraries do
// not say them: jemalloc, which takes memory to answer, and all that the interposer does not know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "base/descriptor.h"
#include "recorder/ring/allocator_facts.h"
#include "schema/tape/malloc_library.h"

namespace heaptape::recorder {

// The file that the process has at `path`, for its properties; none where there is none. In another
// root, links that begin with '/' lead to files of that root.
base::Descriptor open_as_seen_by(uint32_t pid, const std::string& path);

// Looks at each file once, however many processes have it. One thread, but not the one that
// drains, because a file may be slow.
class LibraryFacts {
 public:
  // Fills in what the process `pid` left open in `said`, from the file at its path as that process
  // sees it: in its root, or from its working directory.
  AllocatorFacts complete(const AllocatorFacts& said, uint32_t pid);

 private:
  const schema::MallocLibrary& identify(int file);

  // Device, inode, time of the last change.
  using FileKey = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;

  std::map<FileKey, schema::MallocLibrary> known_;
};

}  // namespace heaptape::recorder
