// The allocators that are installed here, wherever the loader finds them and whatever their file
// names: docs/decisions/0031-families.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::allocators {

struct InstalledLibrary {
  std::string path;     // absolute
  std::string version;  // the library's own; empty if it gives none
};

// The preloaded allocators, in display order: "jemalloc", "mimalloc", ...
const std::vector<std::string>& library_families();

enum class Versions : uint8_t {
  kToChoose,  // those needed for sorting: a single library is not asked
  kAll,
};

// Finds the libraries of a family, newest first: shared libraries in LD_LIBRARY_PATH, the loader's
// cache and the standard directories whose exports show that they belong to the family. A library
// whose file does not contain its version as text is started and asked.
std::vector<InstalledLibrary> installed_libraries(const std::string& family, Versions versions);

// Advice if none is installed: "install it: apt-get install libjemalloc2". Names Debian packages on
// Debian only, and only those of this release.
std::string how_to_install(const std::string& family);

// Whether version `a` is older than `b`: "2.9" is older than "2.10", and no version is older than
// any.
bool is_older_version(const std::string& a, const std::string& b);

}  // namespace heaptape::allocators
