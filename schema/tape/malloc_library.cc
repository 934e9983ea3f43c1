#include "schema/tape/malloc_library.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

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

}  // namespace

MallocLibrary identify_malloc_library(const std::string& path) {
  const auto elf = base::ElfFile::open(path);
  if (!elf.is_native()) return {};
  MallocLibrary library{.family = exported_names(elf).family(), .version = ""};
  if (!library.family.empty()) library.version = version_in(elf, library.family);
  return library;
}

bool exports_malloc(const base::ElfFile& elf) {
  return exported_names(elf).malloc;
}

std::string malloc_family(const std::string& path) {
  std::error_code error;
  const bool is_there = path.find('/') != path.npos &&
                        std::filesystem::is_regular_file(path, error) &&
                        access(path.c_str(), R_OK) == 0;
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
