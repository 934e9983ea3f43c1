#include "schema/tape/inner_heaps.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/elf_file.h"
#include "schema/tape/malloc_library.h"

namespace heaptape::schema {
namespace {

// A heap is known by two texts of its messages and options. In its file more text follows the first
// one; in ours a NUL does, so heaptape does not find itself. From Debian 12's packages; those of
// the first two also from ruff, polars, pyarrow and duckdb of PyPI.
struct InnerHeap {
  std::string_view name;
  std::string_view text;
  std::string_view other_text;
};
constexpr InnerHeap kInnerHeaps[] = {
    {"jemalloc", "<jemalloc>: ", "narenas"},
    {"mimalloc", "environment option mimalloc_", "reserve_huge_os_pages"},
    {"tcmalloc", "tcmalloc.pageheap_", "TCMALLOC_"},  // gperftools
    {"pymalloc", "PYTHONMALLOC: unknown ", "arenas allocated total"},
    {"go", "runtime: out of memory: cannot ", "GOGC"},
    {"java", "G1HeapRegionSize ", "NativeMemoryTracking"},
    {"v8", "max_old_space_", "Mark-Compact"},
    {"php", "USE_ZEND_ALLOC_", "zend_mm_heap corrupted"},
    {"ruby", "RUBY_GC_HEAP_FREE_", "heap_allocated_pages"},
    {"gcc", "GGC heuristics: ", "ggc-min-heapsize"},
};
constexpr uint64_t kLongestText = 32;

bool is_allocator(const std::string& heap) {
  return heap == "jemalloc" || heap == "mimalloc" || heap == "tcmalloc";
}

// A setting in the environment that makes the owner of a heap call malloc instead, in files with
// such a part in their names. The sources are those of heap_remedies.cc.
struct Switch {
  std::string_view heap;
  std::string_view file_part;
  std::string_view variable;
  std::string_view value;
};
constexpr Switch kSwitches[] = {
    {"pymalloc", "", "PYTHONMALLOC", "malloc"},
    {"pymalloc", "", "PYTHONMALLOC", "malloc_debug"},
    {"php", "", "USE_ZEND_ALLOC", "0"},
    {"jemalloc", "arrow", "ARROW_DEFAULT_MEMORY_POOL", "system"},
    {"mimalloc", "arrow", "ARROW_DEFAULT_MEMORY_POOL", "system"},
};

// CPython of 3.13 and later has a mimalloc inside that lies idle, except in its free-threaded
// build: Objects/obmalloc.c, Python/getversion.c. The first of these texts is in any CPython.
constexpr std::string_view kCpythonText = "PYTHONMALLOC";
constexpr std::string_view kFreeThreadedText = "free-threading build";

bool has(std::string_view bytes, std::string_view text) {
  return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

bool has_more_behind(std::string_view bytes, std::string_view text) {
  const char* const end = bytes.data() + bytes.size();
  for (const char* at = bytes.data();;) {
    const auto left = static_cast<size_t>(end - at);
    const void* const found = memmem(at, left, text.data(), text.size());
    if (found == nullptr) return false;
    at = static_cast<const char*>(found) + text.size();
    if (at < end && *at != '\0') return true;
  }
}

// Calls look() with all of .rodata, piece by piece, for it may be large, and a collector does this.
// Pieces overlap, so that each text is whole in one.
template <typename Look>
void for_each_piece(const base::ElfFile& elf, const Look& look) {
  constexpr uint64_t kPieceBytes = 1 << 20;
  constexpr uint64_t kMostBytes = 64 << 20;
  const auto section = elf.section(".rodata");
  if (!section) return;
  const uint64_t end = std::min(section->bytes, kMostBytes);
  for (uint64_t at = 0; at < end; at += kPieceBytes) {
    const std::vector<uint8_t> read =
        elf.read(section->offset + at, std::min(kPieceBytes + kLongestText, end - at));
    look(std::string_view(reinterpret_cast<const char*>(read.data()), read.size()));
  }
}

// The second texts are looked for only in the few files that have a first one.
std::vector<std::string> heaps_by_texts(const base::ElfFile& elf) {
  bool has_text[std::size(kInnerHeaps)] = {};
  for_each_piece(elf, [&](std::string_view piece) {
    for (size_t i = 0; i < std::size(kInnerHeaps); ++i) {
      has_text[i] = has_text[i] || has_more_behind(piece, kInnerHeaps[i].text);
    }
  });
  const auto is_in_file = [&elf](std::string_view text) {
    bool is_found = false;
    for_each_piece(elf, [&](std::string_view piece) { is_found = is_found || has(piece, text); });
    return is_found;
  };
  std::vector<std::string> heaps;
  for (size_t i = 0; i < std::size(kInnerHeaps); ++i) {
    const InnerHeap& heap = kInnerHeaps[i];
    if (!has_text[i] || !is_in_file(heap.other_text)) continue;
    const bool lies_idle =
        heap.name == "mimalloc" && is_in_file(kCpythonText) && !is_in_file(kFreeThreadedText);
    if (!lies_idle) heaps.emplace_back(heap.name);
  }
  return heaps;
}

// The value of a variable; the first one counts, as for getenv(). Empty if there is none.
std::string_view value_in(std::string_view environment, std::string_view variable) {
  const std::string beginning = std::string(variable) + "=";
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(beginning)) return entry.substr(beginning.size());
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return {};
}

}  // namespace

std::vector<std::string> inner_heaps(const std::string& path) {
  const auto elf = base::ElfFile::open(path);
  if (!elf.is_native()) return {};
  std::vector<std::string> heaps = heaps_by_texts(elf);
  // An allocator inside may be the one that it exports; a runtime's heap is not.
  if (exports_malloc(elf)) std::erase_if(heaps, is_allocator);
  return heaps;
}

bool is_switched_off(const std::string& heap, const std::string& file,
                     const std::optional<std::string>& environment) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return std::ranges::any_of(kSwitches, [&](const Switch& one) {
    return one.heap == heap && name.find(one.file_part) != name.npos &&
           (!environment || value_in(*environment, one.variable) == one.value);
  });
}

}  // namespace heaptape::schema
