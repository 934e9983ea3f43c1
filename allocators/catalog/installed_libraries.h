// The allocators that are installed here, wherever the loader finds them and under any file name:
// docs/decisions/0031-families.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::allocators {

struct InstalledLibrary {
  std::string path;     // absolute
  std::string version;  // as the library itself says; empty: it does not say
};

// Allocators that are preloaded, in the order in which they are shown: "jemalloc", "mimalloc", ...
const std::vector<std::string>& library_families();

enum class Versions : uint8_t {
  kToChoose,  // those that the order needs: a single library is not asked
  kAll,
};

// Finds the libraries of a family, the newest first: shared libraries in LD_LIBRARY_PATH, in the
// loader's cache and in the standard directories, whose exports say that they are of the family. A
// library whose file does not have its version as text is started and asked.
std::vector<InstalledLibrary> installed_libraries(const std::string& family, Versions versions);

// Advice where none is installed: "install it: apt-get install libjemalloc2". Names Debian
// packages on Debian only, and those of this release.
std::string how_to_install(const std::string& family);

// Whether version `a` is older than `b`: "2.9" than "2.10", none than any.
bool is_older_version(const std::string& a, const std::string& b);

}  // namespace heaptape::allocators
