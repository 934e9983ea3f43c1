#include "recorder/collector/process_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>

#include "base/address/address_range.h"
#include "base/address/overlap.h"
#include "base/address/pagemap.h"
#include "base/address/pages.h"
#include "base/address/region_set.h"
#include "base/output_file.h"
#include "recorder/collector/session_memory.h"
#include "schema/tape/allocator_settings.h"
#include "schema/tape/manifest.h"

namespace heaptape::recorder {
namespace {

using base::AddressRange;

constexpr uint64_t kMaxProcFileBytes = 64 << 20;
constexpr uint64_t kMaxPagemapBytes = uint64_t{64} << 30;
// No ordinary program has more.
constexpr size_t kMaxStretches = 1 << 20;
constexpr size_t kMaxOwnMappings = 1 << 16;  // as many mappings as a process may have by default
constexpr uint64_t kLookBytes = 1 << 30;     // at a time

std::string proc_path(uint32_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// Takes a number off the front of `text`; 0 when there is none.
uint64_t take_number(std::string_view& text, int base) {
  uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::string_view take_field(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view field = text.substr(0, text.find(' '));
  text.remove_prefix(field.size());
  return field;
}

// A line of /proc/PID/maps: "begin-end permissions offset device inode   path".
struct MapsLine {
  base::AddressRange range;
  std::string_view permissions;
  uint64_t offset = 0;
  std::string_view device;
  std::string_view inode;
  std::string_view path;  // to the end of the line
};

std::optional<MapsLine> parse_maps_line(std::string_view line) {
  MapsLine parsed;
  parsed.range.begin = take_number(line, 16);
  if (line.empty()) return std::nullopt;
  line.remove_prefix(1);
  parsed.range.end = take_number(line, 16);
  if (parsed.range.end <= parsed.range.begin) return std::nullopt;
  parsed.permissions = take_field(line);
  std::string_view offset = take_field(line);
  parsed.offset = take_number(offset, 16);
  parsed.device = take_field(line);
  parsed.inode = take_field(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  parsed.path = line;
  return parsed;
}

bool is_writable_anonymous(const MapsLine& line) {
  const std::string_view name = line.path;
  return line.permissions.starts_with("rw") && line.inode == "0" &&
         (name.empty() || name == "[heap]" || name.starts_with("[anon:"));
}

bool is_executable(const MapsLine& line) {
  return line.permissions.size() > 2 && line.permissions[2] == 'x';
}

// Of a file, or the kernel's. Files that were never on a disk are among them.
bool is_named(const MapsLine& line) {
  return line.path.starts_with('/') || line.path == "[vdso]" || line.path == "[vsyscall]";
}

// The kernel writes a line feed in a path as "\\012".
std::string unescaped(std::string_view path) {
  constexpr std::string_view kLineFeed = "\\012";
  std::string text(path);
  for (size_t at = text.find(kLineFeed); at != text.npos; at = text.find(kLineFeed, at + 1)) {
    text.replace(at, kLineFeed.size(), "\n");
  }
  return text;
}

// Gathers what parse_code() returns.
class CodeParser {
 public:
  void add(const MapsLine& line) {
    if (is_named(line)) {
      if (is_executable(line) && line.path != "[vsyscall]") add_file(line);
    } else {
      add_made(line);
    }
  }
  std::vector<MappedCode> take() { return std::move(code_); }

 private:
  void add_file(const MapsLine& line) {
    constexpr std::string_view kDeleted = " (deleted)";
    std::string_view path = line.path;
    const bool is_deleted = path.ends_with(kDeleted);
    if (is_deleted) path.remove_suffix(kDeleted.size());
    code_.push_back({{0, line.range, line.offset, unescaped(path), ""},
                     std::string(line.device) + " " + std::string(line.inode),
                     is_deleted});
  }
  void add_made(const MapsLine& line) {
    if (line.range.begin != end_) begin_ = line.range.begin;
    end_ = line.range.end;
    if (!is_executable(line)) return;
    const bool goes_on =
        !code_.empty() && code_.back().is_made() && code_.back().mapping.range.begin >= begin_;
    if (goes_on) {
      code_.back().mapping.range.end = line.range.end;
    } else {
      code_.push_back({{0, line.range, 0, "", ""}, "", false});
    }
  }

  std::vector<MappedCode> code_;
  uint64_t begin_ = 0;  // mappings of no file lie without a gap from here
  uint64_t end_ = 0;    // up to here
};

// Calls visit(line) for each line that makes sense.
template <typename Visit>
void for_each_line(std::string_view maps, Visit visit) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    if (const auto parsed = parse_maps_line(line)) visit(*parsed);
  }
}

// A line of /proc/PID/status: "NAME   123 kB". 0 if there is none.
uint64_t status_bytes(std::string_view status, std::string_view name) {
  const size_t at = status.find("\n" + std::string(name));
  if (at == status.npos) return 0;
  std::string_view rest = status.substr(at + 1 + name.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return take_number(rest, 10) << 10;
}

// Anonymous memory has no pages of a file, and is looked at faster if that is not asked.
struct Look {
  AddressRange range;
  base::PagesOf pages_of = base::PagesOf::kAll;
};

// See ProcTexts::resident.
std::optional<std::vector<AddressRange>> resident_pages(base::Pagemap& pagemap,
                                                        const std::vector<Look>& looks) {
  std::vector<AddressRange> resident;
  std::vector<base::PageStretch> stretches;
  for (const auto& [range, pages_of] : looks) {
    for (uint64_t at = range.begin; at < range.end; at += kLookBytes) {
      stretches.clear();
      const AddressRange part{at, std::min(range.end, at + kLookBytes)};
      const auto looked = pagemap.look(part, stretches, pages_of);
      if (!looked.ok() || !*looked) return std::nullopt;
      for (const base::PageStretch& stretch : stretches) {
        if (stretch.is_resident) resident.push_back(stretch.pages);
      }
      if (resident.size() > kMaxStretches) return std::nullopt;
    }
  }
  return resident;
}

// Those that touch take one look: it is a system call.
std::vector<Look> looks_at(const std::vector<PrivateMapping>& mappings) {
  std::vector<Look> looks;
  for (const PrivateMapping& mapping : mappings) {
    const auto pages_of = mapping.is_of_file ? base::PagesOf::kNoFile : base::PagesOf::kAll;
    const bool goes_on = !looks.empty() && looks.back().pages_of == pages_of &&
                         looks.back().range.end == mapping.range.begin;
    if (goes_on) {
      looks.back().range.end = mapping.range.end;
    } else {
      looks.push_back({mapping.range, pages_of});
    }
  }
  return looks;
}

// Nothing: the process has ended. One that ends meanwhile gives a part of the text, and then none.
std::optional<std::string> read_maps(uint32_t pid) {
  auto maps = base::read_file(proc_path(pid, "maps"), kMaxProcFileBytes);
  if (!maps.ok() || maps->empty()) return std::nullopt;
  return std::move(*maps);
}

// Returns false if the process ended meanwhile, or executed another program.
bool look_at_pages(uint32_t pid, ProcTexts& texts) {
  auto pagemap = base::Pagemap::open(pid, base::PagemapAccess::kScan, kMaxPagemapBytes);
  if (!pagemap.ok()) return read_maps(pid).has_value();
  texts.private_mappings = parse_private(texts.maps);
  texts.code_owners = parse_code_owners(texts.maps);
  texts.resident = resident_pages(*pagemap, looks_at(texts.private_mappings));
  if (!texts.resident) {
    texts.private_mappings.clear();
    std::vector<Look> looks;
    for (const AddressRange& range : texts.anonymous) looks.push_back({range});
    looks.push_back({texts.first_stack});
    auto anew = base::Pagemap::open(pid, base::PagemapAccess::kScan, kMaxPagemapBytes);
    if (anew.ok()) texts.resident = resident_pages(*anew, looks);
  }
  return pagemap->process_is_there();
}

// The parts of `ranges` that are not in the set; both by address.
std::vector<AddressRange> parts_outside(const std::vector<AddressRange>& ranges,
                                        const base::RegionSet& set) {
  std::vector<AddressRange> parts;
  for (const AddressRange& range : ranges) {
    uint64_t at = range.begin;
    set.for_each_touching(range, [&](AddressRange other) {
      if (other.begin > at) parts.push_back({at, std::min(other.begin, range.end)});
      at = std::max(at, other.end);
    });
    if (at < range.end) parts.push_back({at, range.end});
  }
  return parts;
}

// Adds up bytes by owner.
class OwnerSums {
 public:
  OwnerSums(const MemoryOwners& owners, const std::string& raw_owner)
      : owners_(owners), raw_owner_(raw_owner) {}

  // `pages` lie in that mapping.
  void add(AddressRange pages, const PrivateMapping& mapping) {
    if (mapping.is_named) return add_bytes(mapping.owner, pages.bytes());
    uint64_t rest_bytes = pages.bytes();
    owners_.for_each_in(pages, [&](AddressRange part, const std::string& owner) {
      add_bytes(owner, part.bytes());
      rest_bytes -= part.bytes();
    });
    add_bytes(mapping.owner.empty() ? raw_owner_ : mapping.owner, rest_bytes);
  }
  // The most bytes first, at most `rest_bytes` in all.
  std::vector<schema::OwnedMemory> take(uint64_t rest_bytes) const {
    std::vector<schema::OwnedMemory> sums;
    for (const auto& [owner, bytes] : bytes_) sums.push_back({owner, bytes});
    std::ranges::stable_sort(sums, std::greater(), &schema::OwnedMemory::bytes);
    std::vector<schema::OwnedMemory> taken;
    for (const auto& [owner, bytes] : sums) schema::add_owner(owner, bytes, rest_bytes, taken);
    return taken;
  }

 private:
  void add_bytes(const std::string& owner, uint64_t bytes) {
    if (!owner.empty() && bytes != 0) bytes_[owner] += bytes;
  }

  const MemoryOwners& owners_;
  const std::string& raw_owner_;
  std::map<std::string, uint64_t> bytes_;
};

uint64_t common_bytes(const base::RegionSet& set, const std::vector<AddressRange>& ranges) {
  uint64_t bytes = 0;
  for (const AddressRange& range : ranges) {
    set.for_each_touching(
        range, [&](AddressRange other) { bytes += base::common_part(range, other).bytes(); });
  }
  return bytes;
}

// From the control block on: glibc has 2,304 there. The mapping may go on with memory of others.
constexpr uint64_t kControlBlockBytes = 4096;

base::RegionSet stacks_of(const ProcTexts& texts, std::span<const uint64_t> thread_blocks) {
  base::RegionSet stacks;
  stacks.add(texts.first_stack);
  for (const uint64_t block : thread_blocks) {
    const auto after = std::ranges::upper_bound(texts.anonymous, block, {}, &AddressRange::begin);
    if (after == texts.anonymous.begin()) continue;
    const AddressRange& mapping = *std::prev(after);
    if (block >= mapping.end) continue;
    stacks.add({mapping.begin, std::min(mapping.end, base::page_up(block) + kControlBlockBytes)});
  }
  return stacks;
}

bool has_session(std::string_view maps) {
  return maps.find(lobby_mapping()) != maps.npos;
}

// That of the line with this name at `at`, if it is the whole name.
AddressRange range_named(std::string_view maps, size_t at, std::string_view name) {
  if (at == maps.npos) return {};
  const size_t begin = maps.rfind('\n', at) + 1;
  const auto line = parse_maps_line(maps.substr(begin, maps.find('\n', at) - begin));
  return line && line->path == name ? line->range : AddressRange();
}

// The heaps of glibc's arenas, but the first arena's, begin at multiples of this (HEAP_MAX_SIZE in
// malloc/arena.c of glibc 2.36).
constexpr uint64_t kArenaHeapBytes = uint64_t{64} << 20;

// Behind such a heap lies the part of its 64 MiB that is not in use yet.
bool is_arena_heap(const PrivateMapping& mapping, AddressRange behind) {
  return mapping.owner.empty() && mapping.range.begin % kArenaHeapBytes == 0 &&
         behind.begin == mapping.range.end && behind.end - mapping.range.begin == kArenaHeapBytes;
}

// Relocated constants of the largest programs have a few MiB. A look takes time for each page.
constexpr uint64_t kMostConstantBytes = 16 << 20;

// Where memory is malloc's.
struct MallocPlaces {
  const LiveSet& live;
  MappedChunks mapped_chunks;
  std::span<const AddressRange> inherited;  // ascending

  bool any_in(AddressRange range) const {
    if (live.any_in(range, mapped_chunks)) return true;
    const auto behind = std::ranges::lower_bound(inherited, range.end, {}, &AddressRange::begin);
    return behind != inherited.begin() && (behind - 1)->end > range.begin;
  }
};

// The range without what lies at its ends where no such heap with a live block can be.
AddressRange without_empty_heaps(AddressRange range, const MallocPlaces& places) {
  const auto has_block = [&places](AddressRange part) { return places.any_in(part); };
  while (range.begin / kArenaHeapBytes != (range.end - 1) / kArenaHeapBytes) {
    const uint64_t heap = (range.begin / kArenaHeapBytes + 1) * kArenaHeapBytes;
    if (has_block({range.begin, heap})) break;
    range.begin = heap;
  }
  while (range.begin / kArenaHeapBytes != (range.end - 1) / kArenaHeapBytes) {
    const uint64_t heap = (range.end - 1) / kArenaHeapBytes * kArenaHeapBytes;
    if (has_block({heap, range.end})) break;
    range.end = heap;
  }
  return range;
}

std::vector<std::string> read_command_line(uint32_t pid) {
  std::vector<std::string> words;
  const auto text = base::read_file(proc_path(pid, "cmdline"), kMaxProcFileBytes);
  if (!text.ok()) return words;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    words.emplace_back(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return words;
}

}  // namespace

std::vector<base::AddressRange> glibc_heaps(const ProcTexts& texts) {
  std::vector<AddressRange> heaps;
  if (texts.break_heap.bytes() != 0) heaps.push_back(texts.break_heap);
  MapsLine last;
  for_each_line(texts.maps, [&](const MapsLine& line) {
    // Heaps that are in use to their ends are joined with the next one.
    const bool is_rest = line.permissions == "---p" && line.range.begin == last.range.end &&
                         line.range.end % kArenaHeapBytes == 0 &&
                         line.range.bytes() < kArenaHeapBytes;
    const bool is_heap = is_rest && is_writable_anonymous(last) && last.path.empty() &&
                         last.range.begin % kArenaHeapBytes == 0;
    if (is_heap) heaps.push_back(last.range);
    last = line;
  });
  std::ranges::sort(heaps, {}, &AddressRange::begin);
  return heaps;
}

std::vector<base::AddressRange> parse_writable_anonymous(std::string_view maps) {
  std::vector<base::AddressRange> ranges;
  for_each_line(maps, [&ranges](const MapsLine& line) {
    if (is_writable_anonymous(line)) ranges.push_back(line.range);
  });
  return ranges;
}

std::vector<PrivateMapping> parse_private(std::string_view maps) {
  std::vector<PrivateMapping> mappings;
  uint64_t end_of_data = 0;  // of variables of a file; those that begin as 0 are behind it
  MapsLine constants;        // the line before, if that is a small read-only part of a file
  for_each_line(maps, [&](const MapsLine& line) {
    const std::string_view name = line.path;
    if (line.permissions == "---p" && !mappings.empty() &&
        is_arena_heap(mappings.back(), line.range)) {
      mappings.back().owner = schema::kLibcOwner;
    }
    if (!line.permissions.ends_with('p') || line.permissions.starts_with("---")) return;
    const bool is_of_file = line.inode != "0";
    if (is_of_file && name.starts_with("/anon_hugepage")) return;
    const bool is_data = is_of_file && line.permissions.starts_with("rw");
    const bool is_behind_data = name.empty() && line.range.begin == end_of_data;
    // The loader relocates constants that lie before variables.
    if (is_data && constants.range.end == line.range.begin && constants.inode == line.inode) {
      mappings.push_back({constants.range, schema::kDataOwner, false, true});
    }
    const bool has_constants = is_of_file && line.permissions.starts_with("r--") &&
                               line.range.bytes() <= kMostConstantBytes;
    constants = has_constants ? line : MapsLine();
    end_of_data = is_data ? line.range.end : 0;
    if (is_of_file && !is_data) return;
    if (is_data || is_behind_data) {
      mappings.push_back({line.range, schema::kDataOwner, false, is_data});
    } else if (const std::string owner = schema::owner_of_kernel_name(name); !owner.empty()) {
      mappings.push_back({line.range, owner, true});
    } else if (name == "[heap]") {
      mappings.push_back({line.range, schema::kHeapOwner, false});
    } else if (name.empty() || name == "[stack]") {
      mappings.push_back({line.range, "", false});
    }
  });
  return mappings;
}

std::vector<CodeOwner> parse_code_owners(std::string_view maps) {
  std::vector<CodeOwner> owners;
  for_each_line(maps, [&owners](const MapsLine& line) {
    if (is_executable(line) && line.path.starts_with('/')) {
      owners.push_back({line.range, schema::owner_of_file(line.path)});
    }
  });
  return owners;
}

base::AddressRange parse_first_stack(std::string_view maps) {
  // Near the end, behind all files, so the text is read from there.
  return range_named(maps, maps.rfind("[stack]\n"), "[stack]");
}

base::AddressRange parse_break_heap(std::string_view maps) {
  AddressRange heap;
  // A part with other rights has a line of its own.
  for (size_t at = maps.find("[heap]\n"); at != maps.npos; at = maps.find("[heap]\n", at + 1)) {
    const AddressRange part = range_named(maps, at, "[heap]");
    if (part.bytes() == 0) continue;
    heap = {heap.bytes() == 0 ? part.begin : heap.begin, part.end};
  }
  return heap;
}

std::vector<MappedCode> parse_code(std::string_view maps) {
  CodeParser parser;
  for_each_line(maps, [&parser](const MapsLine& line) { parser.add(line); });
  return parser.take();
}

std::optional<ProcTexts> read_proc_texts(uint32_t pid, CodeTables* code, WithPages with_pages) {
  auto status = base::read_file(proc_path(pid, "status"), kMaxProcFileBytes);
  auto maps = read_maps(pid);
  if (!status.ok() || !maps) return std::nullopt;
  ProcTexts texts{std::move(*status), std::move(*maps)};
  if (!has_session(texts.maps)) {
    const auto again = read_maps(pid);
    if (!again || has_session(*again)) return std::nullopt;
    texts.has_session = false;
  }
  texts.title = schema::title_of(read_command_line(pid));
  texts.anonymous = parse_writable_anonymous(texts.maps);
  texts.first_stack = parse_first_stack(texts.maps);
  texts.break_heap = parse_break_heap(texts.maps);
  texts.has_ended = with_pages == WithPages::kYes && !look_at_pages(pid, texts);
  if (code != nullptr) texts.code = code->read(pid, texts.maps);
  return texts;
}

schema::ProcessSample make_sample(const ProcTexts& texts, const LiveSet& live,
                                  const OwnMappings* own_mappings,
                                  std::span<const uint64_t> thread_blocks,
                                  const MemoryOwners& owners, const std::string& raw_owner,
                                  std::span<const AddressRange> inherited) {
  schema::ProcessSample sample;
  sample.resident_bytes =
      status_bytes(texts.status, "RssAnon:") + status_bytes(texts.status, "VmSwap:");
  sample.parts.file_bytes = status_bytes(texts.status, "RssFile:");
  sample.parts.shared_bytes = status_bytes(texts.status, "RssShmem:");
  sample.parts.peak_bytes = status_bytes(texts.status, "VmHWM:");
  sample.parts.huge_bytes = status_bytes(texts.status, "HugetlbPages:");
  const bool is_glibc = own_mappings != nullptr;
  const MallocPlaces places{live, is_glibc ? MappedChunks::kSkip : MappedChunks::kCount, inherited};
  for (const AddressRange& range : texts.anonymous) {
    if (!places.any_in(range)) continue;
    const bool may_be_merged = is_glibc && base::common_part(range, texts.break_heap).bytes() == 0;
    sample.regions.push_back(may_be_merged ? without_empty_heaps(range, places) : range);
  }
  const bool has_too_many = own_mappings != nullptr && own_mappings->count() > kMaxOwnMappings;
  if (!texts.resident || has_too_many) return sample;
  base::RegionSet of_malloc;
  for (const AddressRange& region : sample.regions) of_malloc.add(region);
  if (own_mappings != nullptr) {
    own_mappings->for_each([&of_malloc](AddressRange range) { of_malloc.add(range); });
  }
  // The kernel's sums are behind by some pages.
  sample.parts.malloc_bytes =
      std::min(common_bytes(of_malloc, *texts.resident), sample.resident_bytes);
  base::RegionSet stacks = stacks_of(texts, thread_blocks);
  for (const AddressRange& range : of_malloc.ranges()) stacks.remove(range);
  uint64_t left_bytes = sample.resident_bytes - *sample.parts.malloc_bytes;
  sample.parts.stack_bytes = std::min(common_bytes(stacks, *texts.resident), left_bytes);
  left_bytes -= *sample.parts.stack_bytes;
  for (const AddressRange& range : stacks.ranges()) of_malloc.add(range);
  OwnerSums sums(owners, raw_owner);
  const std::vector<AddressRange> rest = parts_outside(*texts.resident, of_malloc);
  base::Overlap overlap(rest);
  for (const PrivateMapping& mapping : texts.private_mappings) {
    overlap.for_each(mapping.range, [&](AddressRange pages) { sums.add(pages, mapping); });
  }
  sample.parts.owners = sums.take(left_bytes);
  return sample;
}

ProcessIdentity identify_process(uint32_t pid, CodeTables* code) {
  ProcessIdentity identity;
  identity.pid = pid;
  char executable[PATH_MAX];
  const ssize_t length = readlink(proc_path(pid, "exe").c_str(), executable, sizeof executable);
  if (length > 0) identity.executable.assign(executable, static_cast<size_t>(length));
  identity.command_line = read_command_line(pid);
  if (const auto text = base::read_file(proc_path(pid, "environ"), kMaxProcFileBytes); text.ok()) {
    identity.settings = schema::allocator_settings(*text);
  }
  // "pid (name) state ppid ...": the name may hold anything, so start after the last parenthesis.
  if (const auto stat = base::read_file(proc_path(pid, "stat"), kMaxProcFileBytes); stat.ok()) {
    std::string_view rest = *stat;
    rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));
    take_field(rest);
    std::string_view parent = take_field(rest);
    identity.parent_pid = static_cast<uint32_t>(take_number(parent, 10));
  }
  if (code == nullptr) return identity;
  if (auto map = PerfMap::of_process(pid)) identity.perf_maps = {std::move(map)};
  const auto maps = read_maps(pid);
  if (maps) identity.code = code->read_in_haste(pid, *maps);
  return identity;
}

}  // namespace heaptape::recorder
