#include "base/output_place.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/display_text.h"

namespace heaptape::base {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as in path_resolution(7)

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Whether several users may make files there, and each remove only their own.
bool is_shared(const fs::path& folder) {
  struct stat info{};
  return stat(folder.c_str(), &info) == 0 && (info.st_mode & S_ISVTX) != 0 &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool is_in_proc(const fs::path& path) {
  struct statfs system{};
  return statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

Error not_there(const std::string& what, const std::string& why) {
  return Error::usage(what + ": " + why + "; remove it, or choose another name");
}

// The regular file behind a link of /proc/self/fd; the link itself for pipes and devices, which
// need have no path.
std::string path_of_descriptor(const fs::path& link) {
  std::error_code error;
  const fs::path file = fs::canonical(link, error);
  return !error && fs::is_regular_file(file, error) ? file.string() : link.string();
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISLNK(mode)) return "a link";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

}  // namespace

Result<std::string> follow_own_links(const std::string& path) {
  const std::string what = "cannot create " + quoted(path);
  fs::path at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct stat info{};
    if (lstat(at.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return at.string();
    if (is_in_proc(at)) return path_of_descriptor(at);
    const bool is_roots = info.st_uid == 0 && !is_shared(folder_of(at));
    if (info.st_uid != geteuid() && !is_roots) {
      return not_there(what, quoted(at.string()) + " is a link of another user");
    }
    std::error_code error;
    const fs::path named = fs::read_symlink(at, error);
    if (error) return os_error(what, error.value());
    at = folder_of(at) / named;
  }
  return os_error(what, ELOOP);
}

Status check_owner(const std::string& what, const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) return {};
  if (info.st_uid == 0 || info.st_uid == geteuid() || !is_shared(folder_of(path))) return {};
  return not_there(what, quoted(path) + " belongs to another user");
}

Status check_replaceable(const std::string& what, const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return not_there(what, quoted(path) + " is " + kind_of(info.st_mode));
  }
  return check_owner(what, path);
}

}  // namespace heaptape::base
