#include "allocators/catalog/installed_libraries.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "allocators/native/native_backend.h"
#include "schema/tape/malloc_library.h"

namespace heaptape::allocators {
namespace {

namespace fs = std::filesystem;

// A family's file names (any version may follow), the likeliest first, and its packages in Debian
// 12, 13 and unstable; null if there is none.
struct Family {
  const char* name;
  std::vector<std::string_view> files;
  const char* packages[3];
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"jemalloc", {"libjemalloc.so"}, {"libjemalloc2", "libjemalloc2", "libjemalloc2"}},
      {"mimalloc", {"libmimalloc.so"}, {"libmimalloc2.0", "libmimalloc3", "libmimalloc3"}},
      {"tcmalloc",
       {"libtcmalloc_minimal.so", "libtcmalloc.so"},
       {"libtcmalloc-minimal4", "libtcmalloc-minimal4t64", "libtcmalloc-minimal4t64"}},
      {"snmalloc", {"libsnmallocshim.so", "libsnmalloc.so"}, {}},
      {"rpmalloc", {"librpmallocwrap.so", "librpmalloc.so"}, {nullptr, nullptr, "librpmalloc1"}},
      {"scudo",
       {"libscudo.so", "libclang_rt.scudo_standalone-x86_64.so", "libclang_rt.scudo_standalone.so"},
       {"libclang-rt-dev", "libclang-rt-dev", "libclang-rt-dev"}},
      {"tbbmalloc", {"libtbbmalloc_proxy.so"}, {"libtbbmalloc2", "libtbbmalloc2", "libtbbmalloc2"}},
      {"hardened_malloc", {"libhardened_malloc.so"}, {}},
  };
  return all;
}

const Family* find_family(const std::string& name) {
  const auto found = std::ranges::find(families(), name, &Family::name);
  return found == families().end() ? nullptr : &*found;
}

// Those that could be read.
std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

// Adds the directories of the files that the loader's cache lists. The cache may hold anything; its
// format is 1.1 of glibc's dl-cache.h.
void add_cached_directories(std::vector<fs::path>& directories) {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  constexpr size_t kHeaderBytes = 48;
  constexpr size_t kEntryBytes = 24;
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  const std::string cache(std::istreambuf_iterator<char>(file), {});
  if (!cache.starts_with(kMagic) || cache.size() < kHeaderBytes) return;
  std::set<fs::path> seen;
  for (size_t at = kHeaderBytes; at + kEntryBytes <= cache.size(); at += kEntryBytes) {
    uint32_t count = 0;
    std::memcpy(&count, cache.data() + kMagic.size(), sizeof count);
    if ((at - kHeaderBytes) / kEntryBytes >= count) return;
    uint32_t value = 0;  // where the path is
    std::memcpy(&value, cache.data() + at + 8, sizeof value);
    if (value >= cache.size()) continue;
    const fs::path path(cache.c_str() + value);
    if (path.is_absolute() && seen.insert(path.parent_path()).second) {
      directories.push_back(path.parent_path());
    }
  }
}

void add_listed_directories(const char* list, std::vector<fs::path>& directories) {
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::string_view first = rest.substr(0, rest.find_first_of(":;"));
    std::error_code error;  // there may be no working directory
    const fs::path directory = fs::absolute(first, error);
    if (!first.empty() && !error) directories.push_back(directory);
    rest.remove_prefix(std::min(rest.size(), first.size() + 1));
  }
}

// LLVM's packages keep their libraries outside the loader's paths. The newest release comes first.
void add_clang_directories(std::vector<fs::path>& directories) {
  constexpr std::string_view kPrefix = "llvm-";
  std::vector<std::string> releases;
  for (const fs::path& entry : entries_of("/usr/lib")) {
    const std::string name = entry.filename();
    if (name.starts_with(kPrefix)) releases.push_back(name.substr(kPrefix.size()));
  }
  std::ranges::sort(
      releases, [](const std::string& a, const std::string& b) { return is_older_version(b, a); });
  for (const std::string& release : releases) {
    const fs::path clang = "/usr/lib/" + std::string(kPrefix) + release + "/lib/clang";
    for (const fs::path& version : entries_of(clang)) directories.push_back(version / "lib/linux");
  }
}

// The directories that the loader searches, in its order, each once.
std::vector<fs::path> library_directories() {
  std::vector<fs::path> directories;
  add_listed_directories(std::getenv("LD_LIBRARY_PATH"), directories);
  add_cached_directories(directories);
  for (const char* const standard : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                                     "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"}) {
    directories.emplace_back(standard);
  }
  add_clang_directories(directories);
  std::vector<fs::path> real;
  std::set<fs::path> seen;
  for (const fs::path& directory : directories) {
    std::error_code error;
    const fs::path target = fs::canonical(directory, error);
    if (!error && seen.insert(target).second) real.push_back(target);
  }
  return real;
}

bool is_called(const std::string& file, std::string_view name) {
  return file.starts_with(name) && (file.size() == name.size() || file[name.size()] == '.');
}

// Adds the files of that name, sorted: directory order is arbitrary.
void add_files(const fs::path& directory, std::string_view name, std::vector<fs::path>& files) {
  std::vector<fs::path> found = entries_of(directory);
  std::erase_if(found, [name](const fs::path& file) { return !is_called(file.filename(), name); });
  std::ranges::sort(found);
  files.insert(files.end(), found.begin(), found.end());
}

// LD_PRELOAD takes no colon or blank; control characters are in no path that anybody wants to see.
bool can_be_preloaded(const std::string& path) {
  return std::ranges::none_of(path,
                              [](unsigned char c) { return c <= ' ' || c == ':' || c == 0x7f; });
}

std::string ask_version(const std::string& path) {
  NativeBackend backend({.name = path, .library = path, .threads = Threads::kMerged});
  return backend.start().ok() ? backend.version() : "";
}

// "forky" from the line VERSION_CODENAME=forky; empty if the system is not Debian.
std::string debian_codename() {
  std::ifstream file("/etc/os-release");
  std::string codename;
  bool is_debian = false;
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kCodename = "VERSION_CODENAME=";
    if (line == "ID=debian") is_debian = true;
    if (line.starts_with(kCodename)) codename = line.substr(kCodename.size());
  }
  return is_debian ? codename : "";
}

}  // namespace

const std::vector<std::string>& library_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Family& family : families()) list.emplace_back(family.name);
    return list;
  }();
  return names;
}

std::vector<InstalledLibrary> installed_libraries(const std::string& name, Versions versions) {
  const Family* const family = find_family(name);
  if (family == nullptr) return {};
  std::vector<fs::path> files;
  const std::vector<fs::path> directories = library_directories();
  for (const std::string_view file : family->files) {
    for (const fs::path& directory : directories) add_files(directory, file, files);
  }
  std::vector<InstalledLibrary> found;
  std::vector<fs::path> real;
  for (const fs::path& file : files) {
    std::error_code error;
    const fs::path target = fs::canonical(file, error);
    if (error || std::ranges::find(real, target) != real.end()) continue;
    real.push_back(target);
    const fs::path& path = can_be_preloaded(file) ? file : target;
    if (!can_be_preloaded(path)) continue;
    const schema::MallocLibrary library = schema::identify_malloc_library(target);
    if (library.family == name) found.push_back({path, library.version});
  }
  for (InstalledLibrary& library : found) {
    const bool is_needed = versions == Versions::kAll || found.size() > 1;
    if (is_needed && library.version.empty()) library.version = ask_version(library.path);
  }
  std::ranges::stable_sort(found, [](const InstalledLibrary& a, const InstalledLibrary& b) {
    return is_older_version(b.version, a.version);
  });
  return found;
}

std::string how_to_install(const std::string& name) {
  const Family* const family = find_family(name);
  const std::string by_path = "-a " + name + "@PATH";
  const std::string release = debian_codename();
  if (family == nullptr || release.empty()) return "install it, or name its file: " + by_path;
  const size_t column = release == "bookworm" ? 0 : release == "trixie" ? 1 : 2;
  const char* const package = family->packages[column];
  if (package == nullptr) {
    return "build it (this release of Debian has no package), and name its file: " + by_path;
  }
  return std::string("install it (apt-get install ") + package + "), or name its file: " + by_path;
}

bool is_older_version(const std::string& a, const std::string& b) {
  const char* x = a.c_str();
  const char* y = b.c_str();
  while (*x != 0 && *y != 0) {
    char* x_end = nullptr;
    char* y_end = nullptr;
    const unsigned long one = std::strtoul(x, &x_end, 10);
    const unsigned long other = std::strtoul(y, &y_end, 10);
    if (one != other) return one < other;
    x = *x_end == 0 ? x_end : x_end + 1;
    y = *y_end == 0 ? y_end : y_end + 1;
  }
  return *x == 0 && *y != 0;
}

}  // namespace heaptape::allocators
