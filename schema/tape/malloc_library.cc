#include "schema/tape/malloc_library.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/elf_file.h"

namespace heaptape::schema {
namespace {

// More than any allocator has, and most programs: the rest is not read.
constexpr uint64_t kMostTableBytes = uint64_t{64} << 20;

// Identifies an allocator by two names that it exports beside malloc, and that no other exports
// together. From Debian 12's libraries, and from the sources of those that it does not package.
struct Marks {
  const char* family;
  const char* name;
  const char* other_name;
};
constexpr Marks kMarks[] = {
    {"glibc", "gnu_get_libc_version", "__libc_malloc"},
    {"musl", "__dls3", "__libc_start_main"},
    {"jemalloc", "mallctl", "malloc_conf"},
    {"jemalloc", "je_mallctl", "je_malloc_conf"},  // --with-jemalloc-prefix=je_
    {"mimalloc", "mi_version", "mi_malloc"},
    {"tcmalloc", "tc_version", "tc_malloc"},  // gperftools
    // microsoft/snmalloc, src/snmalloc/override/malloc.cc of 0.7; some builds have a mallctl, but
    // no malloc_conf: jemalloc_compat.cc.
    {"snmalloc", "__malloc_end_pointer", "malloc_good_size"},
    // mjansson/rpmalloc, rpmalloc/rpmalloc.h of 1.4 and 2.0
    {"rpmalloc", "rpmalloc_initialize", "rpfree"},
    // LLVM's standalone Scudo; the older one exports __scudo_set_rss_limit instead.
    {"scudo", "__scudo_print_stats", "malloc_iterate"},
    {"tbbmalloc", "__TBB_malloc_proxy", "aligned_alloc"},  // libtbbmalloc_proxy
    // GrapheneOS/hardened_malloc, include/h_malloc.h of 12 and later
    {"hardened_malloc", "malloc_object_size_fast", "malloc_object_size"},
};

// The same by two texts that an allocator has for its messages and options. In an allocator's file
// more text follows the first one; in ours a NUL does, so heaptape does not find itself. From
// Debian 12's libraries, and from ruff, polars, pyarrow and duckdb of PyPI, which have a jemalloc
// or a mimalloc inside.
constexpr Marks kInnerMarks[] = {
    {"jemalloc", "<jemalloc>: ", "narenas"},
    {"mimalloc", "environment option mimalloc_", "reserve_huge_os_pages"},
    {"tcmalloc", "tcmalloc.pageheap_", "TCMALLOC_"},  // gperftools
};

// CPython of 3.13 and later has a mimalloc inside that lies idle, except in its free-threaded
// build: Objects/obmalloc.c, Python/getversion.c. The first of these texts is in any CPython.
constexpr std::string_view kCpythonText = "PYTHONMALLOC";
constexpr std::string_view kFreeThreadedText = "free-threading build";

// Which of the names have been seen.
struct Seen {
  bool malloc = false;
  bool name[std::size(kMarks)] = {};
  bool other_name[std::size(kMarks)] = {};

  void note(std::string_view symbol) {
    malloc |= symbol == "malloc";
    for (size_t i = 0; i < std::size(kMarks); ++i) {
      name[i] |= symbol == kMarks[i].name;
      other_name[i] |= symbol == kMarks[i].other_name;
    }
  }
  // That of all marks seen; empty if there are two.
  std::string family() const {
    std::string family;
    for (size_t i = 0; malloc && i < std::size(kMarks); ++i) {
      if (!name[i] || !other_name[i]) continue;
      if (!family.empty() && family != kMarks[i].family) return "";
      family = kMarks[i].family;
    }
    return family;
  }
};

bool is_exported(const Elf64_Sym& symbol) {
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK);
}

Seen exported_names(const base::ElfFile& elf) {
  const std::vector<uint8_t> symbols = elf.read_section(".dynsym", kMostTableBytes);
  const std::vector<uint8_t> names = elf.read_section(".dynstr", kMostTableBytes);
  const std::string_view text(reinterpret_cast<const char*>(names.data()), names.size());
  Seen seen;
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (!is_exported(symbol) || symbol.st_name >= text.size()) continue;
    constexpr size_t kLongest = 32;  // of the marks
    const std::string_view name = text.substr(symbol.st_name, kLongest);
    seen.note(name.substr(0, name.find('\0')));
  }
  return seen;
}

bool has_text_that_begins(std::string_view bytes, std::string_view beginning) {
  for (size_t at = bytes.find(beginning); at != bytes.npos; at = bytes.find(beginning, at + 1)) {
    const size_t next = at + beginning.size();
    if (next < bytes.size() && bytes[next] != '\0') return true;
  }
  return false;
}

// By the texts in .rodata, which is read piece by piece: it may be large, and a collector does
// this.
std::vector<std::string> families_by_texts(const base::ElfFile& elf) {
  constexpr uint64_t kPieceBytes = 1 << 20;
  constexpr uint64_t kLongest = 32;  // of the marks
  const auto section = elf.section(".rodata");
  if (!section) return {};
  bool name[std::size(kInnerMarks)] = {};
  bool other_name[std::size(kInnerMarks)] = {};
  bool is_cpython = false;
  bool is_free_threaded = false;
  const uint64_t end = std::min(section->bytes, kMostTableBytes);
  for (uint64_t at = 0; at < end; at += kPieceBytes) {
    const std::vector<uint8_t> bytes =
        elf.read(section->offset + at, std::min(kPieceBytes + kLongest, end - at));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (size_t i = 0; i < std::size(kInnerMarks); ++i) {
      name[i] = name[i] || has_text_that_begins(text, kInnerMarks[i].name);
      other_name[i] = other_name[i] || text.find(kInnerMarks[i].other_name) != text.npos;
    }
    is_cpython = is_cpython || text.find(kCpythonText) != text.npos;
    is_free_threaded = is_free_threaded || text.find(kFreeThreadedText) != text.npos;
  }
  std::vector<std::string> families;
  for (size_t i = 0; i < std::size(kInnerMarks); ++i) {
    if (name[i] && other_name[i]) families.emplace_back(kInnerMarks[i].family);
  }
  if (is_cpython && !is_free_threaded) std::erase(families, "mimalloc");
  return families;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The "2.10" that `text` begins with; empty if it begins with none.
std::string leading_version(std::string_view text) {
  size_t end = 0;
  size_t dots = 0;
  for (; end < text.size() && end < 32; ++end) {
    const bool is_dot = text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]);
    if (!is_dot && !is_digit(text[end])) break;
    if (is_dot) ++dots;
  }
  return dots == 0 ? "" : std::string(text.substr(0, end));
}

// "5.3.0" of "5.3.0-0-g54eaed1d8b56...", which jemalloc's configure makes of its repository.
std::string jemalloc_version(std::string_view text) {
  constexpr size_t kLongest = 32;
  for (size_t at = text.find("-g"); at != text.npos; at = text.find("-g", at + 1)) {
    const size_t first = at > kLongest ? at - kLongest - 1 : 0;  // no search of all that precedes
    const std::string_view before = text.substr(first, at - first);
    const size_t zero = before.rfind('\0');
    if (zero == before.npos && first > 0) continue;
    const std::string_view string = before.substr(zero == before.npos ? 0 : zero + 1);
    std::string version = leading_version(string);
    const std::string_view rest = string.substr(version.size());
    if (version.empty() || rest.size() < 2 || rest[0] != '-') continue;
    if (std::ranges::all_of(rest.substr(1), is_digit)) return version;
  }
  return "";
}

std::string version_behind(std::string_view text, std::string_view prefix) {
  const size_t at = text.find(prefix);
  return at == text.npos ? "" : leading_version(text.substr(at + prefix.size()));
}

std::string version_in(const base::ElfFile& elf, const std::string& family) {
  const std::vector<uint8_t> bytes = elf.read_section(".rodata", kMostTableBytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (family == "jemalloc") return jemalloc_version(text);
  if (family == "tcmalloc") return version_behind(text, "gperftools ");
  if (family == "glibc") return version_behind(text, "release version ");
  return "";
}

std::string file_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string family_by_name(const std::string& path) {
  const std::string name = file_name_of(path);
  if (name == "libc.so.6" || name.starts_with("libc-2.")) return "glibc";
  if (name.starts_with("ld-musl-") || name.starts_with("libc.musl-")) return "musl";
  for (const std::string& family : malloc_families()) {
    if (name.starts_with("lib" + family)) return family;
  }
  return "";
}

base::Descriptor open_regular(const std::string& path) {
  base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (file && (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))) return {};
  return file;
}

}  // namespace

MallocLibrary identify_malloc_library(const std::string& path) {
  base::Descriptor file = open_regular(path);
  if (!file) return {};
  const base::ElfFile elf(std::move(file));
  if (!elf.is_elf() || !elf.is_native()) return {};
  MallocLibrary library{.family = exported_names(elf).family(), .version = ""};
  if (!library.family.empty()) library.version = version_in(elf, library.family);
  return library;
}

std::vector<std::string> inner_malloc_families(const std::string& path) {
  base::Descriptor file = open_regular(path);
  if (!file) return {};
  const base::ElfFile elf(std::move(file));
  if (!elf.is_elf() || !elf.is_native() || exported_names(elf).malloc) return {};
  return families_by_texts(elf);
}

std::string malloc_family(const std::string& path) {
  const bool is_there = path.find('/') != path.npos && open_regular(path);
  return is_there ? identify_malloc_library(path).family : family_by_name(path);
}

std::vector<std::string> malloc_families() {
  std::vector<std::string> families;
  for (const Marks& marks : kMarks) {
    if (families.empty() || families.back() != marks.family) families.emplace_back(marks.family);
  }
  return families;
}

}  // namespace heaptape::schema
