#include "replayer/symbols/debug_files.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/display_text.h"
#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

namespace fs = std::filesystem;

uint32_t checksum_of(const base::Descriptor& file) {
  std::array<uint8_t, 1 << 16> bytes;
  uLong checksum = crc32(0, nullptr, 0);
  off_t offset = 0;
  for (;;) {
    const ssize_t count = pread(file.get(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return static_cast<uint32_t>(checksum);
    checksum = crc32(checksum, bytes.data(), static_cast<uInt>(count));
    offset += count;
  }
}

// The file, if is_right(descriptor).
template <typename IsRight>
std::optional<DebugFile> open_if(const std::string& path, IsRight is_right) {
  base::Result<base::Descriptor> file = open_regular_file(path);
  if (!file || !is_right(*file)) return std::nullopt;
  return DebugFile{path, std::move(*file)};
}

std::optional<DebugFile> open_build(const std::string& path, std::string_view build_id) {
  return open_if(path, [&](const base::Descriptor& file) { return build_id_of(file) == build_id; });
}

}  // namespace

base::Result<base::Descriptor> open_regular_file(const std::string& path) {
  const std::string what = "cannot read " + base::quoted(path);
  const base::Descriptor name(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!name || fstat(name.get(), &info) != 0) return base::os_error(what, errno);
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    return base::Error::target(what + ": it is not a file with content");
  }
  const std::string link = "/proc/self/fd/" + std::to_string(name.get());
  base::Descriptor file(open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return base::os_error(what, errno);
  return file;
}

std::string build_id_of(const base::Descriptor& file) {
  elf_version(EV_CURRENT);
  Elf* const elf = elf_begin(file.get(), ELF_C_READ_MMAP, nullptr);
  const void* bytes = nullptr;
  const ssize_t count = elf == nullptr ? 0 : dwelf_elf_gnu_build_id(elf, &bytes);
  std::string build_id;
  if (count > 0) build_id.assign(static_cast<const char*>(bytes), static_cast<size_t>(count));
  elf_end(elf);
  return build_id;
}

DebugFiles::DebugFiles(std::vector<std::string> folders) : folders_(std::move(folders)) {
  folders_.emplace_back("/usr/lib/debug");
}

std::optional<DebugFile> DebugFiles::find_by_build_id(std::string_view build_id) const {
  if (build_id.size() < 2) return std::nullopt;
  const std::string name = ".build-id/" + base::hex_text(build_id.substr(0, 1)) + "/" +
                           base::hex_text(build_id.substr(1)) + ".debug";
  for (const std::string& folder : folders_) {
    if (auto found = open_build(fs::path(folder) / name, build_id)) return found;
  }
  return std::nullopt;
}

std::optional<DebugFile> DebugFiles::find_by_link(const std::string& path, const std::string& link,
                                                  uint32_t checksum,
                                                  std::string_view build_id) const {
  const fs::path own_folder = fs::path(path).parent_path();
  std::vector<fs::path> places = {own_folder / link, own_folder / ".debug" / link};
  for (const std::string& folder : folders_) {
    places.push_back(fs::path(folder) / own_folder.relative_path() / link);
  }
  for (const fs::path& place : places) {
    if (place == path) continue;
    auto found =
        build_id.empty()
            ? open_if(place,
                      [&](const base::Descriptor& file) { return checksum_of(file) == checksum; })
            : open_build(place, build_id);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<DebugFile> DebugFiles::find_shared(const std::string& path, const std::string& name,
                                                 std::string_view build_id) const {
  if (auto found = find_by_build_id(build_id)) return found;
  if (auto found = open_build(fs::path(path).parent_path() / name, build_id)) return found;
  const size_t below_folder = name.rfind(".dwz/");
  if (below_folder == name.npos) return std::nullopt;
  for (const std::string& folder : folders_) {
    const fs::path place = fs::path(folder) / name.substr(below_folder);
    if (auto found = open_build(place, build_id)) return found;
  }
  return std::nullopt;
}

}  // namespace heaptape::replayer
