#include "recorder/collector/session_users.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/output_file.h"
#include "recorder/ring/handshake.h"
#include "recorder/ring/session_layout.h"

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
  const std::string own = std::to_string(getpid());
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (is_pid(name) && name != own && uses(entry.path())) return true;
  }
  return false;
}

bool SessionUsers::uses(const std::string& folder) const {
  const auto maps = base::read_file(folder + "/maps", kMostBytes);
  const std::string lobby = std::string("/memfd:") + kLobbyName;
  if (maps.ok() && !inode_.empty() && maps_file(*maps, inode_, lobby)) return true;
  const auto variables = base::read_file(folder + "/environ", kMostBytes);
  return variables.ok() && variables->find(variable_) != std::string::npos;
}

}  // namespace heaptape::recorder
