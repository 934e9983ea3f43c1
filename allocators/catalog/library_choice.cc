#include "allocators/catalog/library_choice.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "allocators/catalog/allocator_family.h"
#include "allocators/catalog/installed_libraries.h"
#include "allocators/plugin/library_check.h"
#include "base/display_text.h"
#include "schema/tape/malloc_library.h"

namespace heaptape::allocators {
namespace {

using base::Error;
using base::quoted;

constexpr std::string_view kLibraryPrefix = "lib:";

std::string family_of(const std::string& text) {
  return text.substr(0, text.find('@'));
}

// X of "FAMILY@X"; empty if there is no X.
std::string choice_of(const std::string& text) {
  const size_t at = text.find('@');
  return at == std::string::npos ? "" : text.substr(at + 1);
}

bool is_family(const std::string& name) {
  return name == "glibc" || std::ranges::find(library_families(), name) != library_families().end();
}

// The loader would search elsewhere for a name without '/'. "./" is omitted; ".." is kept, because
// the part before it may be a link.
std::string absolute(const std::string& path) {
  std::error_code error;  // there may be no working directory
  const std::filesystem::path full = std::filesystem::absolute(path, error);
  if (error) return path;
  std::filesystem::path plain;
  for (const auto& part : full) {
    if (part != ".") plain /= part;
  }
  return plain;
}

// The libc of this process, which the worker also uses.
std::string own_libc() {
  Dl_info info = {};
  dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &info);
  return info.dli_fname == nullptr ? "" : info.dli_fname;
}

// `version` may be a path.
NativeLibrary glibc(const std::string& version) {
  NativeLibrary library{.preload = "", .family = "glibc", .refusal = ""};
  std::error_code error;
  if (version.find('/') != std::string::npos &&
      std::filesystem::equivalent(version, own_libc(), error)) {
    return library;
  }
  if (!version.empty() && version != gnu_get_libc_version()) {
    library.refusal = std::string("the libc of this system is glibc@") + gnu_get_libc_version() +
                      ", and no other can be loaded beside it";
  }
  return library;
}

base::Result<NativeLibrary> by_path(const std::string& text) {
  const std::string path = library_path(text);
  NativeLibrary library{.preload = absolute(path),
                        .family = allocator_family(absolute(path)),
                        .refusal = why_no_library(path)};
  if (text.starts_with(kLibraryPrefix) || !library.refusal.empty()) return library;
  const std::string family = family_of(text);
  const std::string exported = schema::identify_malloc_library(library.preload).family;
  if (exported == family) return library;
  return Error::usage("cannot replay on " + quoted(text) +
                      ": its exports show that the library is " +
                      (exported.empty() ? "not " + family : exported) + "; write " +
                      (exported.empty() ? std::string(kLibraryPrefix) : exported + "@") + path);
}

std::string versions_text(const std::vector<InstalledLibrary>& libraries) {
  std::string text;
  for (const InstalledLibrary& library : libraries) {
    if (library.version.empty()) continue;
    text += (text.empty() ? "" : ", ") + library.version;
  }
  return text;
}

NativeLibrary installed(const std::string& family, const std::string& version) {
  const auto libraries =
      installed_libraries(family, version.empty() ? Versions::kToChoose : Versions::kAll);
  NativeLibrary library{.preload = "", .family = family, .refusal = ""};
  std::error_code error;
  const auto found = std::ranges::find_if(libraries, [&](const InstalledLibrary& one) {
    return version.empty() || one.version == version;
  });
  if (found != libraries.end()) {
    library.preload = found->path;
  } else if (std::filesystem::is_regular_file(version, error)) {
    library.refusal = base::quoted(version) + " is no version of " + family +
                      "; for the file, write " + family + "@./" + version;
  } else if (libraries.empty()) {
    library.refusal = family + " is not installed here: " + how_to_install(family);
  } else if (const std::string others = versions_text(libraries); others.empty()) {
    library.refusal = "the " + family + " that is installed does not say its version: write " +
                      family + ", or " + family + "@PATH";
  } else {
    library.refusal = family + " " + version + " is not installed here, but " + others +
                      ": see `heaptape allocators`";
  }
  return library;
}

}  // namespace

bool names_library(const std::string& text) {
  if (text.starts_with(kLibraryPrefix)) return text.size() > kLibraryPrefix.size();
  return is_family(family_of(text)) && !text.ends_with('@');
}

std::string library_path(const std::string& text) {
  if (text.starts_with(kLibraryPrefix)) return text.substr(kLibraryPrefix.size());
  const std::string choice = choice_of(text);
  return choice.find('/') == std::string::npos ? "" : choice;
}

base::Result<NativeLibrary> choose_library(const std::string& text) {
  if (family_of(text) == "glibc") return glibc(choice_of(text));
  if (!library_path(text).empty()) return by_path(text);
  return installed(family_of(text), choice_of(text));
}

}  // namespace heaptape::allocators
