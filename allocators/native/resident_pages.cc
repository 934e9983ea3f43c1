#include "allocators/native/resident_pages.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;
using base::page_down;
using base::page_up;
using base::Pagemap;
using base::PagemapAccess;
using base::PageStretch;

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
  HEAPTAPE_ASSIGN_OR_RETURN(Pagemap pagemap, Pagemap::open(static_cast<uint32_t>(pid_), access_));
  std::vector<PageStretch> stretches;
  Residency residency;
  bool is_whole = true;
  Status status;
  const auto look_at = [&](AddressRange pages) {
    if (!status.ok() || !is_whole || pages.begin >= pages.end) return;
    const auto looked = pagemap.look(pages, stretches);
    if (looked.ok()) {
      is_whole = *looked;
    } else {
      status = looked.error();
    }
  };
  for (const AddressRange& region : regions) {
    AddressRange rest{page_down(region.begin), page_up(region.end)};
    known_.for_each_touching(rest, [&](AddressRange known) {
      const AddressRange part = base::common_part(rest, known);
      if (part.begin >= part.end) return;
      look_at({rest.begin, part.begin});
      residency.resident_bytes += part.bytes();
      rest.begin = part.end;
    });
    look_at(rest);
    if (!status.ok()) return status.error();
  }
  access_ = pagemap.access();
  if (!is_whole) return whole_process(pid_);
  residency.absent.emplace();
  for (const PageStretch& stretch : stretches) {
    if (stretch.is_resident) {
      residency.resident_bytes += stretch.pages.bytes();
      known_.add(whole_groups(stretch.pages));
    } else {
      residency.absent->push_back(stretch.pages);
    }
  }
  return residency;
}

void ResidentPages::forget(AddressRange range) {
  known_.remove(groups_around(range));
}

}  // namespace heaptape::allocators
