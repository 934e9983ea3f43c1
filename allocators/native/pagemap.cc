#include "allocators/native/pagemap.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace heaptape::allocators {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr size_t kPagesPerRead = 1 << 15;

void note_page(Residency& residency, uint64_t address, bool is_resident) {
  if (is_resident) {
    residency.resident_bytes += kPageBytes;
    return;
  }
  auto& absent = *residency.absent;
  if (!absent.empty() && absent.back().end == address) {
    absent.back().end += kPageBytes;
  } else {
    absent.push_back({address, address + kPageBytes});
  }
}

}  // namespace

Result<Residency> read_residency(int pid, std::span<const AddressRange> regions) {
  const std::string path = "/proc/" + std::to_string(pid) + "/pagemap";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return schema::os_error("cannot open '" + path + "'", errno);
  Residency residency;
  residency.absent.emplace();
  std::vector<uint64_t> entries(kPagesPerRead);
  for (const AddressRange& region : regions) {
    for (uint64_t at = region.begin & ~(kPageBytes - 1); at < region.end;) {
      const uint64_t left = (region.end - at + kPageBytes - 1) / kPageBytes;
      const size_t pages = std::min<uint64_t>(kPagesPerRead, left);
      const auto offset = static_cast<off_t>(at / kPageBytes * sizeof(uint64_t));
      const ssize_t got = pread(fd, entries.data(), pages * sizeof(uint64_t), offset);
      if (got < static_cast<ssize_t>(sizeof(uint64_t))) {
        const int saved = got < 0 ? errno : EIO;
        close(fd);
        return schema::os_error("cannot read '" + path + "'", saved);
      }
      const size_t count = static_cast<size_t>(got) / sizeof(uint64_t);
      for (size_t i = 0; i < count; ++i) {
        note_page(residency, at + i * kPageBytes, (entries[i] & (kPresent | kSwapped)) != 0);
      }
      at += count * kPageBytes;
    }
  }
  close(fd);
  return residency;
}

}  // namespace heaptape::allocators
