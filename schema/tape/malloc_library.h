// Finds which malloc implementation a file has, from the file itself:
// docs/decisions/0031-families.md.
#pragma once

#include <string>
#include <vector>

#include "base/elf_file.h"

namespace heaptape::schema {

struct MallocLibrary {
  // "glibc", "musl", "jemalloc", "mimalloc", "tcmalloc", "snmalloc", "rpmalloc", "scudo",
  // "tbbmalloc" or "hardened_malloc". Empty: another one, unknown, or names of two of them.
  std::string family;
  // "5.3.0", where the file has it as text: those of glibc, jemalloc and tcmalloc do. mimalloc
  // says it when it runs.
  std::string version;

  bool operator==(const MallocLibrary&) const = default;
};

// Reads the shared library or program at `path` without running it. It is known by the names that
// it exports, malloc among them; the file's own name does not matter. The file may be anything,
// cut short or made to mislead: the answer is then empty. The work is bounded.
MallocLibrary identify_malloc_library(const std::string& path);

// Such a file serves the calls of the whole process.
bool exports_malloc(const base::ElfFile& elf);

// The family of the library at `path`, which may be a path on another machine: if there is no such
// file here, its name decides. Empty if neither tells.
std::string malloc_family(const std::string& path);

// All families, in the order above.
std::vector<std::string> malloc_families();

}  // namespace heaptape::schema
