// Which pages of a process are in memory or in swap: proc_pid_pagemap(5).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address/address_range.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace heaptape::base {

// Consecutive pages that are alike.
struct PageStretch {
  AddressRange pages;
  bool is_resident = false;  // or in swap

  bool operator==(const PageStretch&) const = default;
};

enum class PagemapAccess : uint8_t {
  kScan,  // by stretches, PAGEMAP_SCAN, which knows pages of zeros; before Linux 6.7, as kRead
  kRead,  // page by page; a page of zeros that was only read counts as resident
};

enum class PagesOf : uint8_t {
  kAll,
  kNoFile,  // those of files and of shared memory do not count; a scan takes six times as long
};

// The process may keep running: the kernel holds its mmap lock for at most 256 MiB of resident
// pages at a time. One thread.
class Pagemap {
 public:
  // Reading the entries of more than a TiB takes seconds.
  static constexpr uint64_t kMaxReadBytes = uint64_t{1} << 40;

  // Fails if the process is gone, or may not be inspected.
  static Result<Pagemap> open(uint32_t pid, PagemapAccess access = PagemapAccess::kScan,
                              uint64_t max_read_bytes = kMaxReadBytes);

  // Appends the stretches of `pages` (whole pages), in address order, and merges the first with the
  // last one present where they meet. Returns false, with `stretches` unspecified, once
  // page-by-page reading would exceed `max_read_bytes` in all. A process that ends meanwhile has no
  // resident pages: see process_is_there().
  Result<bool> look(AddressRange pages, std::vector<PageStretch>& stretches,
                    PagesOf pages_of = PagesOf::kAll);

  // Whether the process still has the memory that it had at open(): it has not ended, nor executed
  // another program.
  bool process_is_there() const;

  // The access requested, or kRead if the kernel lacks PAGEMAP_SCAN.
  PagemapAccess access() const { return access_; }

 private:
  Pagemap(Descriptor file, std::string path, PagemapAccess access, uint64_t max_read_bytes);
  int scan(AddressRange pages, PagesOf pages_of, std::vector<PageStretch>& stretches) const;
  int read(AddressRange pages, PagesOf pages_of, std::vector<PageStretch>& stretches);

  Descriptor file_;
  std::string path_;
  PagemapAccess access_;
  uint64_t readable_bytes_;  // that may still be read
  std::vector<uint64_t> entries_;
};

}  // namespace heaptape::base
