#include "recorder/collector/session_users.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/output_file.h"
#include "recorder/collector/session_memory.h"
#include "recorder/ring/handshake.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kMostBytes = 64 << 20;

bool is_pid(std::string_view name) {
  return std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Whether a line has both, the inode first: "... 00:01 4711       /memfd:heaptape-lobby (deleted)".
bool maps_file(std::string_view maps, const std::string& inode, const std::string& path) {
  for (size_t at = maps.find(path); at != maps.npos; at = maps.find(path, at + 1)) {
    const size_t begin = maps.rfind('\n', at) + 1;
    if (maps.substr(begin, at - begin).find(inode) != maps.npos) return true;
  }
  return false;
}

}  // namespace

SessionUsers::SessionUsers(int lobby, const std::string& session_value)
    : variable_(std::string(kSessionVariable) + "=" + session_value) {
  struct stat file{};
  if (fstat(lobby, &file) == 0) inode_ = " " + std::to_string(file.st_ino) + " ";
}

bool SessionUsers::any() const {
  std::error_code error;
  // Not getpid(): /proc may be that of another pid namespace.
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self", error);
  if (error) return false;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::filesystem::path name = entry->path().filename();
    if (is_pid(name.native()) && name != own && uses(entry->path())) return true;
  }
  return false;
}

bool SessionUsers::uses(const std::string& directory) const {
  const auto maps = base::read_file(directory + "/maps", kMostBytes);
  if (maps.ok() && !inode_.empty() && maps_file(*maps, inode_, lobby_mapping())) return true;
  const auto variables = base::read_file(directory + "/environ", kMostBytes);
  return variables.ok() && variables->find(variable_) != std::string::npos;
}

}  // namespace heaptape::recorder
