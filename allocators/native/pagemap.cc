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
#include <utility>
#include <vector>

#include "base/address/pages.h"
#include "base/descriptor.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;
using base::page_down;
using base::page_up;

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
constexpr uint64_t kPageIsPresent = 1 << 3;
constexpr uint64_t kPageIsSwapped = 1 << 4;

// /proc/PID/pagemap read as a file: 8 bytes a page (proc_pid_pagemap(5)).
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr size_t kPagesPerRead = 1 << 15;
constexpr size_t kPagesPerGroup = 512;
// Reading the entries of more than this takes seconds per sample.
constexpr uint64_t kMaxReadBytes = uint64_t{1} << 40;

// The result of a look, page by page in ascending order.
class Findings {
 public:
  Findings() { residency_.absent.emplace(); }

  void note(AddressRange pages, bool are_resident) {
    if (are_resident) residency_.resident_bytes += pages.bytes();
    std::vector<AddressRange>& stretches = are_resident ? resident_ : *residency_.absent;
    if (!stretches.empty() && stretches.back().end == pages.begin) {
      stretches.back().end = pages.end;
    } else {
      stretches.push_back(pages);
    }
  }
  // Pages that need no look.
  void count_known(AddressRange pages) { residency_.resident_bytes += pages.bytes(); }

  const std::vector<AddressRange>& resident() const { return resident_; }
  Residency take() { return std::move(residency_); }

 private:
  Residency residency_;
  std::vector<AddressRange> resident_;  // except known pages
};

// Heaps are large and their pages alike: most groups can be judged as a whole.
void note_group(Findings& findings, uint64_t address, std::span<const uint64_t> entries) {
  uint64_t any = 0;
  uint64_t all = ~uint64_t{0};
  for (const uint64_t entry : entries) {
    any |= entry;
    all &= entry;
  }
  if ((any & (kPresent | kSwapped)) == 0 || (all & kPresent) != 0) {
    findings.note({address, address + entries.size() * kPageBytes}, (all & kPresent) != 0);
    return;
  }
  for (const uint64_t entry : entries) {
    findings.note({address, address + kPageBytes}, (entry & (kPresent | kSwapped)) != 0);
    address += kPageBytes;
  }
}

// Scans `region`. Returns the errno value, or 0.
int scan(int pagemap, AddressRange region, Findings& findings) {
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
      if (pages.begin > at) findings.note({at, pages.begin}, false);
      findings.note({pages.begin, pages.end}, true);
      at = pages.end;
    }
    if (arguments.walk_end <= at && count == 0) return EIO;
    if (arguments.walk_end > at) findings.note({at, arguments.walk_end}, false);
    at = std::max<uint64_t>(at, arguments.walk_end);
  }
  return 0;
}

// The same by reading. Returns the errno value, or 0.
int read_entries(int pagemap, AddressRange region, std::vector<uint64_t>& entries,
                 Findings& findings) {
  for (uint64_t at = region.begin; at < region.end;) {
    const size_t pages = std::min<uint64_t>(kPagesPerRead, (region.end - at) / kPageBytes);
    entries.resize(pages);
    const auto offset = static_cast<off_t>(at / kPageBytes * sizeof(uint64_t));
    const ssize_t got = pread(pagemap, entries.data(), pages * sizeof(uint64_t), offset);
    if (got < static_cast<ssize_t>(sizeof(uint64_t))) return got < 0 ? errno : EIO;
    const size_t limit = (region.end - at) / kPageBytes;
    const size_t count = std::min(limit, static_cast<size_t>(got) / sizeof(uint64_t));
    for (size_t i = 0; i < count; i += kPagesPerGroup) {
      note_group(findings, at + i * kPageBytes,
                 std::span(entries).subspan(i, std::min(kPagesPerGroup, count - i)));
    }
    at += count * kPageBytes;
  }
  return 0;
}

// Pages are remembered in groups: each gap between two groups costs a call, which takes as long as
// some dozens of pages.
constexpr uint64_t kGroupBytes = 64 * kPageBytes;

AddressRange whole_groups(AddressRange range) {
  const uint64_t begin = base::round_up(range.begin, kGroupBytes);
  return {begin, std::max(begin, range.end & ~(kGroupBytes - 1))};
}

AddressRange groups_around(AddressRange range) {
  return {range.begin & ~(kGroupBytes - 1), base::round_up(range.end, kGroupBytes)};
}

// The whole process, which is a little more than its committed memory.
Residency whole_process(int pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  statm >> total >> resident;
  return {resident * kPageBytes, std::nullopt};
}

}  // namespace

Result<Residency> ResidentPages::look(std::span<const AddressRange> regions) {
  const std::string path = "/proc/" + std::to_string(pid_) + "/pagemap";
  const base::Descriptor pagemap(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!pagemap) return base::os_error("cannot open '" + path + "'", errno);
  Findings findings;
  std::vector<uint64_t> entries;
  uint64_t bytes = 0;
  int error = 0;
  const auto look_at = [&](AddressRange pages) {
    if (error != 0 || pages.begin >= pages.end) return;
    bytes += pages.bytes();
    if (access_ == PagemapAccess::kScan) {
      error = scan(pagemap.get(), pages, findings);
      if (error != ENOTTY && error != EINVAL) return;
      access_ = PagemapAccess::kRead;  // an older kernel: nothing was scanned yet
      error = 0;
    }
    if (bytes <= kMaxReadBytes) error = read_entries(pagemap.get(), pages, entries, findings);
  };
  for (const AddressRange& region : regions) {
    AddressRange rest{page_down(region.begin), page_up(region.end)};
    known_.for_each_touching(rest, [&](AddressRange known) {
      const AddressRange part = base::common_part(rest, known);
      if (part.begin >= part.end) return;
      look_at({rest.begin, part.begin});
      findings.count_known(part);
      rest.begin = part.end;
    });
    look_at(rest);
    if (error != 0) return base::os_error("cannot read '" + path + "'", error);
    if (access_ == PagemapAccess::kRead && bytes > kMaxReadBytes) return whole_process(pid_);
  }
  for (const AddressRange& stretch : findings.resident()) known_.add(whole_groups(stretch));
  return findings.take();
}

void ResidentPages::forget(AddressRange range) {
  known_.remove(groups_around(range));
}

}  // namespace heaptape::allocators
