// What /proc shows of a process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address/address_range.h"
#include "recorder/collector/code_tables.h"
#include "recorder/collector/live_set.h"
#include "recorder/collector/memory_owners.h"
#include "recorder/collector/own_mappings.h"
#include "recorder/collector/perf_map.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::recorder {

// Private memory, and its owner if no hook saw who mapped it.
struct PrivateMapping {
  base::AddressRange range;
  std::string owner;      // is_owner_name, or empty: not known
  bool is_named = false;  // by the program: that counts more than who mapped it
  bool is_of_file = false;

  bool operator==(const PrivateMapping&) const = default;
};

// What a sample is made of, as /proc/PID shows it.
struct ProcTexts {
  std::string status;
  std::string maps;
  ProcessCode code = {};  // by the maps; empty where no stacks are recorded
  std::vector<base::AddressRange> anonymous = {};  // writable mappings of no file, by address
  // The resident pages of private mappings that are no file's, by address; or only those of
  // `anonymous` and of the first stack, if these are too many. Nothing: they were not wanted, may
  // not be looked at, or are too many to be read one by one (over 64 GiB, before Linux 6.7) or in
  // too many stretches.
  std::optional<std::vector<base::AddressRange>> resident = {};
  std::vector<PrivateMapping> private_mappings = {};  // by address; empty: not all are looked at
  std::vector<CodeOwner> code_owners = {};            // by address
  base::AddressRange first_stack = {};                // of the first thread
  base::AddressRange break_heap = {};                 // below brk(2)
  std::string title = {};                             // schema::title_of() its command line
  // The process ended while its pages were looked at, or executed another program: no sample.
  bool has_ended = false;
  // Whether the process has the session mapped. An exec unmaps it; if the new program joins, it is
  // recorded as another process.
  bool has_session = true;
};
enum class WithPages : bool { kNo, kYes };
// Nothing when the process is gone or we may not look. Waits while the process has its address
// space locked, as in a fork that copies much memory. `code`: null where no stacks are recorded.
std::optional<ProcTexts> read_proc_texts(uint32_t pid, CodeTables* code, WithPages with_pages);

// Memory and heap regions of the process. The regions are the writable anonymous mappings in which
// a live block begins: others (stacks, a garbage collector's pages) are not malloc's. Blocks of
// glibc that have a mapping of their own do not make a region: the kernel shows such mappings
// merged with their neighbours, and the tape itself has their extent. It also shows a thread
// arena's heap merged with what the program mapped beside it. Such heaps begin at multiples of
// 64 MiB, so the ends of a mapping that lie outside of those with live blocks are cut off. malloc's
// part of the memory is what is resident in regions and in mappings of single blocks. Stacks are
// the first thread's, and of other threads the mappings up to their control blocks, unless a block
// lives there. The owner of other pages is the name that the program gave them, who mapped them, or
// PrivateMapping::owner; or `raw_owner`, whose run-time maps memory past the hooks, if not empty.
// `own_mappings`: null where the allocator is not glibc. `inherited`: regions of the process from
// which this one was forked, ascending; what is mapped there is malloc's, too, with live blocks or
// without. time_ns and event stay 0.
schema::ProcessSample make_sample(const ProcTexts& texts, const LiveSet& live,
                                  const OwnMappings* own_mappings,
                                  std::span<const uint64_t> thread_blocks = {},
                                  const MemoryOwners& owners = {},
                                  const std::string& raw_owner = {},
                                  std::span<const base::AddressRange> inherited = {});

// What is glibc's malloc's for certain, without knowing of any block: the heap below brk(2) and the
// heaps of threads' arenas. Ascending.
std::vector<base::AddressRange> glibc_heaps(const ProcTexts& texts);

// The writable anonymous mappings in the text of /proc/PID/maps, in its order. Lines that make no
// sense are left out.
std::vector<base::AddressRange> parse_writable_anonymous(std::string_view maps);

// The private mappings in the same text that can have pages of no file, in its order: without
// inaccessible ones, and of files only variables and the constants before them, which the loader
// may relocate. Variables of programs and libraries are schema::kDataOwner's.
std::vector<PrivateMapping> parse_private(std::string_view maps);

// Where programs and libraries have their code, in the same text.
std::vector<CodeOwner> parse_code_owners(std::string_view maps);

// The stack of the first thread, in the same text; empty if there is none.
base::AddressRange parse_first_stack(std::string_view maps);

// The heap below brk(2), in the same text; empty if there is none.
base::AddressRange parse_break_heap(std::string_view maps);

// An executable mapping of a file, by the name that this had when it was mapped; or, without a
// path, memory of no file in which code is made at run time: from the first executable mapping of
// it to the last, as far as nothing else lies between them.
struct MappedCode {
  schema::CodeMapping mapping;
  std::string file;         // its device and inode, as text
  bool is_deleted = false;  // under its name is another file, or none

  bool is_made() const { return mapping.path.empty(); }
};
// Those in the text of /proc/PID/maps, in its order. Lines that make no sense are left out.
std::vector<MappedCode> parse_code(std::string_view maps);

// Who a process is. What /proc does not show is empty or 0.
struct ProcessIdentity {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  std::string executable;
  std::vector<std::string> command_line;
  std::vector<std::string> settings;  // of allocators, in its environment: TapeHeader::settings
  ProcessCode code = {};              // empty where no stacks are recorded
  PerfMaps perf_maps = {};            // empty where no stacks are recorded
};
// `code`: null where no stacks are recorded; large files that are new are left for later.
ProcessIdentity identify_process(uint32_t pid, CodeTables* code);

}  // namespace heaptape::recorder
