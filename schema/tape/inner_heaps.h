// Heaps that programs and libraries bring along beside malloc: allocators linked into them, and
// those of language runtimes. Which a file has is told by the file itself
// (docs/decisions/0031-families.md).
#pragma once

#include <string>
#include <vector>

namespace heaptape::schema {

// The heaps that the program or library at `path` has inside, for calls of its own that no
// preloaded library sees: "jemalloc", "mimalloc" and "tcmalloc"; "pymalloc" (CPython), "go", "java"
// (HotSpot), "v8", "php" and "gcc" (its garbage collector). Known by texts of their messages and
// options, because such files are mostly stripped. Empty if the file exports a malloc, which serves
// the whole process. The mimalloc of a CPython counts only if the build uses it
// (PYTHONMALLOC=mimalloc is not seen). As bounded and as wary as identify_malloc_library().
std::vector<std::string> inner_heaps(const std::string& path);

// CPython calls malloc for its objects if it finds this in its environment, which is a list of
// "NAME=value" with a NUL behind each (/proc/PID/environ). Source: Python 3.13,
// Doc/using/cmdline.rst.
bool has_python_call_malloc(const std::string& environment);

}  // namespace heaptape::schema
