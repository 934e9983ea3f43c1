#include "base/address/pagemap.h"

#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "base/address/pages.h"

namespace heaptape::base {
namespace {

// PAGEMAP_SCAN, Linux 6.7 (linux/fs.h; Debian 12's is older): lists the stretches of present pages,
// in a time that depends on them and not on the size of the range scanned.
struct PageRegion {
  uint64_t begin;
  uint64_t end;
  uint64_t categories;
};
struct ScanArguments {
  uint64_t size;
  uint64_t flags;
  uint64_t begin;
  uint64_t end;
  uint64_t walk_end;  // out: where the scan stopped
  uint64_t regions;
  uint64_t region_capacity;
  uint64_t max_pages;
  uint64_t category_inverted;
  uint64_t category_mask;
  uint64_t category_anyof_mask;
  uint64_t return_mask;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t kPageIsFile = 1 << 2;  // or of shared memory
constexpr uint64_t kPageIsPresent = 1 << 3;
constexpr uint64_t kPageIsSwapped = 1 << 4;
constexpr uint64_t kPageIsZeros = 1 << 5;  // the kernel's, which all processes share
constexpr uint64_t kMaxPagesPerScan = 1 << 16;

// /proc/PID/pagemap read as a file: 8 bytes a page (proc_pid_pagemap(5)).
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr uint64_t kOfFile = uint64_t{1} << 61;
constexpr size_t kPagesPerRead = 1 << 15;
constexpr size_t kPagesPerGroup = 512;

void append(std::vector<PageStretch>& stretches, AddressRange pages, bool are_resident) {
  if (pages.begin >= pages.end) return;
  if (!stretches.empty() && stretches.back().pages.end == pages.begin &&
      stretches.back().is_resident == are_resident) {
    stretches.back().pages.end = pages.end;
  } else {
    stretches.push_back({pages, are_resident});
  }
}

// Heaps are large and their pages alike: most groups can be judged as a whole.
void append_group(std::vector<PageStretch>& stretches, uint64_t address,
                  std::span<const uint64_t> entries) {
  uint64_t any = 0;
  uint64_t all = ~uint64_t{0};
  for (const uint64_t entry : entries) {
    any |= entry;
    all &= entry;
  }
  if ((any & (kPresent | kSwapped)) == 0 || (all & kPresent) != 0) {
    append(stretches, {address, address + entries.size() * kPageBytes}, (all & kPresent) != 0);
    return;
  }
  for (const uint64_t entry : entries) {
    append(stretches, {address, address + kPageBytes}, (entry & (kPresent | kSwapped)) != 0);
    address += kPageBytes;
  }
}

}  // namespace

Pagemap::Pagemap(Descriptor file, std::string path, PagemapAccess access, uint64_t max_read_bytes)
    : file_(std::move(file)),
      path_(std::move(path)),
      access_(access),
      readable_bytes_(max_read_bytes) {}

Result<Pagemap> Pagemap::open(uint32_t pid, PagemapAccess access, uint64_t max_read_bytes) {
  std::string path = "/proc/" + std::to_string(pid) + "/pagemap";
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return os_error("cannot open '" + path + "'", errno);
  return Pagemap(std::move(file), std::move(path), access, max_read_bytes);
}

Result<bool> Pagemap::look(AddressRange pages, std::vector<PageStretch>& stretches,
                           PagesOf pages_of) {
  int error = 0;
  if (access_ == PagemapAccess::kScan) {
    error = scan(pages, pages_of, stretches);
    // An older kernel: nothing was scanned yet.
    if (error == ENOTTY || error == EINVAL) access_ = PagemapAccess::kRead;
  }
  if (access_ == PagemapAccess::kRead) {
    if (pages.bytes() > readable_bytes_) return false;
    readable_bytes_ -= pages.bytes();
    error = read(pages, pages_of, stretches);
  }
  if (error != 0) return os_error("cannot read '" + path_ + "'", error);
  return true;
}

// A scan of memory that is gone succeeds and finds nothing; reading tells.
bool Pagemap::process_is_there() const {
  uint64_t entry = 0;
  return pread(file_.get(), &entry, sizeof entry, 0) == sizeof entry;
}

// Returns the errno value, or 0.
int Pagemap::scan(AddressRange pages, PagesOf pages_of, std::vector<PageStretch>& stretches) const {
  std::array<PageRegion, 1024> found;
  uint64_t at = pages.begin;
  while (at < pages.end) {
    ScanArguments arguments{};
    arguments.size = sizeof arguments;
    arguments.begin = at;
    arguments.end = pages.end;
    arguments.regions = reinterpret_cast<uint64_t>(found.data());
    arguments.region_capacity = found.size();
    arguments.max_pages = kMaxPagesPerScan;
    // For kPageIsFile the kernel reads its record of each page, which misses the caches.
    const uint64_t unwanted = kPageIsZeros | (pages_of == PagesOf::kNoFile ? kPageIsFile : 0);
    arguments.category_inverted = unwanted;
    arguments.category_mask = unwanted;
    arguments.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
    arguments.return_mask = kPageIsPresent | kPageIsSwapped;
    const int count = ioctl(file_.get(), kPagemapScan, &arguments);
    if (count < 0) return errno;
    for (const PageRegion& region : std::span(found).first(static_cast<size_t>(count))) {
      append(stretches, {at, region.begin}, false);
      append(stretches, {region.begin, region.end}, true);
      at = region.end;
    }
    if (arguments.walk_end <= at && count == 0) return EIO;
    append(stretches, {at, arguments.walk_end}, false);
    at = std::max<uint64_t>(at, arguments.walk_end);
  }
  return 0;
}

// The same by reading.
int Pagemap::read(AddressRange pages, PagesOf pages_of, std::vector<PageStretch>& stretches) {
  for (uint64_t at = pages.begin; at < pages.end;) {
    const size_t limit = (pages.end - at) / kPageBytes;
    entries_.resize(std::min(kPagesPerRead, limit));
    const auto offset = static_cast<off_t>(at / kPageBytes * sizeof(uint64_t));
    const ssize_t got =
        pread(file_.get(), entries_.data(), entries_.size() * sizeof(uint64_t), offset);
    if (got < static_cast<ssize_t>(sizeof(uint64_t))) return got < 0 ? errno : EIO;
    const size_t count = std::min(limit, static_cast<size_t>(got) / sizeof(uint64_t));
    if (pages_of == PagesOf::kNoFile) {
      for (uint64_t& entry : std::span(entries_).first(count)) {
        if ((entry & kOfFile) != 0) entry = 0;
      }
    }
    for (size_t i = 0; i < count; i += kPagesPerGroup) {
      append_group(stretches, at + i * kPageBytes,
                   std::span(entries_).subspan(i, std::min(kPagesPerGroup, count - i)));
    }
    at += count * kPageBytes;
  }
  return 0;
}

}  // namespace heaptape::base
