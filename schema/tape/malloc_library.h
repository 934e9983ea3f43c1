// Finds which malloc implementation a file has, from the file itself:
// docs/decisions/0031-families.md.
#pragma once

#include <string>
#include <vector>

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

// The families of the allocators that the program or library at `path` has inside, for calls of its
// own that no preloaded library sees: "jemalloc", "mimalloc" or "tcmalloc"; Arrow has two. Known by
// the texts of their messages, because such files are mostly stripped. Empty if the file exports a
// malloc, which serves the whole process. The mimalloc of a CPython counts only if the build uses
// it (PYTHONMALLOC=mimalloc is not seen). As bounded and as wary as identify_malloc_library().
std::vector<std::string> inner_malloc_families(const std::string& path);

// The family of the library at `path`, which may be a path on another machine: if there is no such
// file here, its name decides. Empty if neither tells.
std::string malloc_family(const std::string& path);

// All families, in the order above.
std::vector<std::string> malloc_families();

}  // namespace heaptape::schema
