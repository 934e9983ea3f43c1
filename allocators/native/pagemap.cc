#include "allocators/native/pagemap.h"

#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>

#include "base/address/pages.h"
#include "base/descriptor.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;
using base::page_down;
using base::page_up;

// PAGEMAP_SCAN, Linux 6.7 (linux/fs.h; Debian 12's is older): lists the stretches of pages that
// are there, in a time that depends on them and not on the size of what is looked at.
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
constexpr uint64_t kPageIsPresent = 1 << 3;
constexpr uint64_t kPageIsSwapped = 1 << 4;

// /proc/PID/pagemap read as a file: 8 bytes a page (proc_pid_pagemap(5)).
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr size_t kPagesPerRead = 1 << 15;
constexpr size_t kPagesPerGroup = 512;
// Reading the entries of more than this takes seconds a sample.
constexpr uint64_t kMaxReadBytes = uint64_t{1} << 40;

void note_pages(Residency& residency, AddressRange pages, bool are_resident) {
  if (are_resident) {
    residency.resident_bytes += pages.bytes();
    return;
  }
  auto& absent = *residency.absent;
  if (!absent.empty() && absent.back().end == pages.begin) {
    absent.back().end = pages.end;
  } else {
    absent.push_back(pages);
  }
}

// Heaps are large and their pages alike: most groups need no look at the single page.
void note_group(Residency& residency, uint64_t address, std::span<const uint64_t> entries) {
  uint64_t any = 0;
  uint64_t all = ~uint64_t{0};
  for (const uint64_t entry : entries) {
    any |= entry;
    all &= entry;
  }
  if ((any & (kPresent | kSwapped)) == 0 || (all & kPresent) != 0) {
    note_pages(residency, {address, address + entries.size() * kPageBytes}, (all & kPresent) != 0);
    return;
  }
  for (const uint64_t entry : entries) {
    note_pages(residency, {address, address + kPageBytes}, (entry & (kPresent | kSwapped)) != 0);
    address += kPageBytes;
  }
}

// Takes in `region` by scanning. The errno value, or 0.
int scan(int pagemap, AddressRange region, Residency& residency) {
  std::array<PageRegion, 1024> found;
  uint64_t at = region.begin;
  while (at < region.end) {
    ScanArguments arguments{};
    arguments.size = sizeof arguments;
    arguments.begin = at;
    arguments.end = region.end;
    arguments.regions = reinterpret_cast<uint64_t>(found.data());
    arguments.region_capacity = found.size();
    arguments.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
    arguments.return_mask = arguments.category_anyof_mask;
    const int count = ioctl(pagemap, kPagemapScan, &arguments);
    if (count < 0) return errno;
    for (const PageRegion& pages : std::span(found).first(static_cast<size_t>(count))) {
      if (pages.begin > at) note_pages(residency, {at, pages.begin}, false);
      note_pages(residency, {pages.begin, pages.end}, true);
      at = pages.end;
    }
    if (arguments.walk_end <= at && count == 0) return EIO;
    if (arguments.walk_end > at) note_pages(residency, {at, arguments.walk_end}, false);
    at = std::max<uint64_t>(at, arguments.walk_end);
  }
  return 0;
}

// The same by reading. The errno value, or 0.
int read_entries(int pagemap, AddressRange region, std::vector<uint64_t>& entries,
                 Residency& residency) {
  for (uint64_t at = region.begin; at < region.end;) {
    const size_t pages = std::min<uint64_t>(kPagesPerRead, (region.end - at) / kPageBytes);
    entries.resize(pages);
    const auto offset = static_cast<off_t>(at / kPageBytes * sizeof(uint64_t));
    const ssize_t got = pread(pagemap, entries.data(), pages * sizeof(uint64_t), offset);
    if (got < static_cast<ssize_t>(sizeof(uint64_t))) return got < 0 ? errno : EIO;
    const size_t limit = (region.end - at) / kPageBytes;
    const size_t count = std::min(limit, static_cast<size_t>(got) / sizeof(uint64_t));
    for (size_t i = 0; i < count; i += kPagesPerGroup) {
      note_group(residency, at + i * kPageBytes,
                 std::span(entries).subspan(i, std::min(kPagesPerGroup, count - i)));
    }
    at += count * kPageBytes;
  }
  return 0;
}

// All of the process, which is a little more than its committed memory.
Residency whole_process(int pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  statm >> total >> resident;
  return {resident * kPageBytes, std::nullopt};
}

}  // namespace

Result<Residency> read_residency(int pid, std::span<const AddressRange> regions,
                                 PagemapAccess access) {
  const std::string path = "/proc/" + std::to_string(pid) + "/pagemap";
  const base::Descriptor pagemap(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!pagemap) return base::os_error("cannot open '" + path + "'", errno);
  Residency residency;
  residency.absent.emplace();
  std::vector<uint64_t> entries;
  uint64_t bytes = 0;
  bool can_scan = access == PagemapAccess::kScan;
  int error = 0;
  for (const AddressRange& region : regions) {
    const AddressRange pages{page_down(region.begin), page_up(region.end)};
    bytes += pages.bytes();
    if (can_scan) {
      error = scan(pagemap.get(), pages, residency);
      can_scan = error != ENOTTY && error != EINVAL;  // an older kernel: nothing is scanned yet
    }
    if (!can_scan && bytes > kMaxReadBytes) return whole_process(pid);
    if (!can_scan) error = read_entries(pagemap.get(), pages, entries, residency);
    if (error != 0) break;
  }
  if (error != 0) return base::os_error("cannot read '" + path + "'", error);
  return residency;
}

}  // namespace heaptape::allocators
