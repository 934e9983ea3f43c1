#include "allocators/native/environment_names.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/output_file.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr char kLoaderFile[] = "ld-linux-x86-64.so.2";

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool has_in_any_case(const std::string& text, std::string part) {
  std::ranges::transform(part, part.begin(), lower);
  const auto is_same = [](char of_text, char of_part) { return lower(of_text) == of_part; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), is_same) != text.end();
}

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Not as the beginning of another name. (Possibly as the end: compilers merge such strings.)
bool has_name(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if (end == text.size() || !is_of_a_name(text[end])) return true;
  }
  return false;
}

bool file_has(const std::string& path, const std::string& name) {
  const auto text = base::read_file(path, kMostBytes);
  if (!text.ok() || has_name(*text, name)) return true;
  constexpr std::string_view kComposed = "MIMALLOC_";  // to which it appends the name of an option
  return name.starts_with(kComposed) && has_in_any_case(*text, std::string(kComposed)) &&
         has_in_any_case(*text, name.substr(kComposed.size()));
}

bool reads(const std::string& library, const std::string& name) {
  if (name.starts_with("LD_") || file_has(library, name)) return true;
  const size_t slash = library.rfind('/') + 1;
  return library.substr(slash).starts_with("libc.so") &&
         file_has(library.substr(0, slash) + kLoaderFile, name);
}

// The variable of "NAME=VALUE"; for glibc's list of tunables, also the name of each.
std::vector<std::string> names_in(const std::string& entry) {
  std::vector<std::string> names = {entry.substr(0, entry.find('='))};
  if (names[0] != "GLIBC_TUNABLES") return names;
  std::istringstream tunables(entry.substr(std::min(entry.size(), names[0].size() + 1)));
  for (std::string tunable; std::getline(tunables, tunable, ':');) {
    if (!tunable.empty()) names.push_back(tunable.substr(0, tunable.find('=')));
  }
  return names;
}

}  // namespace

std::vector<std::string> unread_names(const std::string& library,
                                      const std::vector<std::string>& environment) {
  std::vector<std::string> unread;
  for (const std::string& entry : environment) {
    for (const std::string& name : names_in(entry)) {
      if (!reads(library, name)) unread.push_back(name);
    }
  }
  return unread;
}

}  // namespace heaptape::allocators
