// Heaps that programs and libraries bring along beside malloc: allocators linked into them, and
// those of language runtimes. Texts in a file tell which heaps it has
// (docs/decisions/0031-families.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace heaptape::schema {

// The heaps that the program or library at `path` has inside, for calls of its own that no
// preloaded library sees: "jemalloc", "mimalloc" and "tcmalloc"; "pymalloc" (CPython), "go", "java"
// (HotSpot), "v8", "php", "ruby" and "gcc" (its garbage collector). Known by texts of their
// messages and options, because such files are mostly stripped. Without allocators if the file
// exports a malloc, which serves the whole process. The mimalloc of a CPython counts only if the
// build uses it (PYTHONMALLOC=mimalloc is not seen). As bounded and as wary as
// identify_malloc_library().
std::vector<std::string> inner_heaps(const std::string& path);

// Whether a setting makes the owner of `heap` inside `file` call malloc, such as
// PYTHONMALLOC=malloc. `environment` has "NAME=value" with a NUL behind each (/proc/PID/environ).
// Nothing: it cannot be read, as of a process that has ended; then any setting may be there.
// Options of the program are not seen, such as python3 -I, which ignores its environment.
bool is_switched_off(const std::string& heap, const std::string& file,
                     const std::optional<std::string>& environment);

}  // namespace heaptape::schema
