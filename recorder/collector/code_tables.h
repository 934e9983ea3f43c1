// The code that recorded processes have mapped: for their tapes, and, where stacks are walked by
// tables, for the processes themselves. Makes and owns the file of recorder/unwind/code_map.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/descriptor.h"
#include "base/mapping.h"
#include "base/result.h"
#include "recorder/ring/session_layout.h"
#include "recorder/unwind/unwind_compiler.h"
#include "schema/tape/stack.h"

namespace heaptape::recorder {

struct MappedCode;

// Of one process at one time.
struct ProcessCode {
  std::vector<schema::CodeMapping> mappings;
  uint64_t code_map = 0;    // as ProcessSlot::code_map
  uint64_t made_ns = 0;     // how long tables were made for it
  uint64_t cpu_ns = 0;      // the processor time of that
  bool is_partial = false;  // some were left for later
};

// What a process waits for when it joins. Files beyond are left for later.
struct HasteLimits {
  uint64_t most_ns;    // then no more file is begun
  CompileLimits most;  // of a file
};
// cc1plus has 3 MiB, and takes 20 ms.
inline constexpr HasteLimits kHasteForAllStacks{100'000'000,
                                                {uint64_t{8} << 20, uint64_t{4} << 20}};
// Few stacks are missed until the rest is there.
inline constexpr HasteLimits kHasteForSomeStacks{2'000'000,
                                                 {uint64_t{256} << 10, uint64_t{256} << 10}};

// Guarantees:
// - Tables of a file are made once, however many processes map it and however often one is looked
//   at.
// - What processes get of the table file they cannot write, where the kernel can forbid it (from
//   Linux 5.1 on).
// - Whatever a file holds, at worst stacks end in its code.
//
// Memory grows with the code of all files that were ever mapped, and for each process by some 150
// bytes and 32 for each of its executable mappings, which stay in the table file: a child that was
// forked may begin with the map of any. Of that no more than kCodeFileBytes is used, or what the
// limit on file sizes allows: code beyond has no rules. Any thread.
class CodeTables {
 public:
  static base::Result<std::unique_ptr<CodeTables>> create(
      Unwinding unwinding, const HasteLimits& haste = kHasteForAllStacks);

  // To be given to processes; -1: they need none.
  int descriptor() const { return file_.get(); }

  // `maps`: what /proc/PID/maps shows of the process. Takes tens of milliseconds for a large file
  // that is new, up to a second for the largest.
  ProcessCode read(uint32_t pid, std::string_view maps) { return read(pid, maps, Haste::kNone); }
  // The same for a process that waits for us: what would take long is left to the next read().
  ProcessCode read_in_haste(uint32_t pid, std::string_view maps) {
    return read(pid, maps, Haste::kSome);
  }

 private:
  enum class Haste { kNone, kSome };
  struct Segment {
    uint64_t offset;  // in its file
    uint64_t bytes;
    uint64_t table;  // in the table file; 0: none
  };
  struct Module {
    std::string build_id;
    std::vector<Segment> segments;  // executable ones
  };
  // Device, inode, time of the last change: another file under the same name is another module.
  using FileKey = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;

  CodeTables(base::Descriptor file, uint64_t file_bytes, base::Mapping mapping,
             const HasteLimits& haste)
      : haste_(haste),
        file_(std::move(file)),
        file_bytes_(file_bytes),
        mapping_(std::move(mapping)) {}
  ProcessCode read(uint32_t pid, std::string_view maps, Haste haste);
  const Module* find_module(uint32_t pid, MappedCode& mapped, Haste haste, ProcessCode& code);
  const Module* look_up_or_make(uint32_t pid, MappedCode& mapped, Haste haste, ProcessCode& code);
  const Module* find_module_by_file(const std::string& file);
  std::optional<UnwindTables> compile(base::Descriptor file, Haste haste) const;
  Module add_tables(const UnwindTables& compiled);
  uint64_t add_map(const std::vector<MappedCode>& code, const std::vector<const Module*>& modules);
  bool is_map_of(uint64_t offset, std::span<const uint64_t> words) const;
  uint64_t append(const void* data, uint64_t bytes);

  const HasteLimits haste_;
  const base::Descriptor file_;  // none: walks go by frame pointers
  const uint64_t file_bytes_;
  const base::Mapping mapping_;
  std::mutex mutex_;          // for the rest; nothing is made while it is held
  uint64_t used_bytes_ = 64;  // offset 0 is nothing
  std::map<FileKey, Module> modules_;
  // By MappedCode::file, as last seen under its name: for when it is deleted, or replaced.
  std::map<std::string, const Module*> module_of_file_;
  std::multimap<uint64_t, uint64_t> maps_;  // where they are in the file, by hash_of() their ranges
};

}  // namespace heaptape::recorder
