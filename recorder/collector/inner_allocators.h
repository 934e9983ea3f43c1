// Finds programs and libraries with a heap inside, whose calls no preloaded library sees: Rust
// programs with jemalloc, Arrow, language runtimes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "recorder/collector/process_sampler.h"
#include "schema/tape/manifest.h"
#include "schema/tape/tape_info.h"

namespace heaptape::recorder {

// The files with allocators inside that one process had mapped. Safe to call from any thread.
class ProcessInnerAllocators {
 public:
  // A file counts once. More than kMostFiles are left out.
  void add(const schema::InnerAllocator& file);
  std::vector<schema::InnerAllocator> list() const;
  // The schema::owner_of_file() of one whose run-time makes its own system calls, as Go's does; or
  // empty.
  std::string raw_owner() const;
  // The files that need no second look: while one is mapped, no other gets its inode. Call only
  // from the thread that runs look().
  bool was_looked_at(const MappedCode& code) const;
  void note_look(const MappedCode& code);

 private:
  static constexpr size_t kMostLookedAt = 100'000;
  static constexpr size_t kMostFiles = 256;

  mutable std::mutex mutex_;
  std::vector<schema::InnerAllocator> files_;  // guarded by mutex_
  std::set<std::string> looked_at_;
};

// Looks at each file once, however many processes have it, and at no more than kMostFiles. look()
// is for one thread, but not the one that drains, because files may be slow; entries() is for any.
class InnerAllocators {
 public:
  // Looks at the files of code that the process `pid` has mapped, and adds those found to
  // `process`.
  void look(uint32_t pid, const ProcTexts& texts, ProcessInnerAllocators& process);
  // The files that have one, with how many processes had them mapped; by file.
  std::vector<schema::ManifestUnrecorded> entries() const;

 private:
  static constexpr size_t kMostFiles = 4096;
  static constexpr size_t kMostProcesses = 10'000;  // that are counted for a file

  using Families = std::vector<std::string>;

  // Null: it cannot look now.
  const Families* families_of(uint32_t pid, const MappedCode& code);

  // Device, inode, time of the last change.
  using FileKey = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;
  std::map<FileKey, Families> known_;
  mutable std::mutex mutex_;
  // Processes, by file and families; guarded by mutex_.
  std::map<std::pair<std::string, Families>, std::set<uint32_t>> found_;
};

}  // namespace heaptape::recorder
