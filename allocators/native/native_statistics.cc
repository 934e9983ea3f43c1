// Allocators' own statistics, as counters of a run.
#include <gnu/libc-version.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "allocators/native/native_backend.h"
#include "base/mimalloc_version.h"

namespace heaptape::allocators {
namespace {

// The approximate time of mallinfo2.
uint64_t mallinfo_ns(uint64_t free_chunks) {
  return 2000 + 20 * free_chunks;
}

}  // namespace

// mallinfo2 walks over every free chunk: at every sample of a large heap it would take longer than
// the replay. The costs are deliberately estimates: replays of one tape thus do the same.
bool NativeBackend::can_afford_mallinfo() const {
  constexpr uint64_t kNsPerOp = 30;
  constexpr uint64_t kShareOfReplay = 50;  // one in this many
  constexpr uint64_t kFreeNs = 2'000'000;
  if (options_.calls != Calls::kMade || worker_->shared().libc_serves_malloc == 0) return false;
  const uint64_t done_ns = (batch_.first_event + batch_.ops.size()) * kNsPerOp;
  const uint64_t next_ns = mallinfo_ns(worker_->shared().mallinfo_free_chunks);
  return mallinfo_cost_ns_ + next_ns <= kFreeNs + done_ns / kShareOfReplay;
}

// Compares our account of the memory with glibc's: arena is the heap, hblkhd the mapped chunks.
Status NativeBackend::compare_with_mallinfo() {
  WorkerShared& shared = worker_->shared();
  give(Turn::kDescribe);
  HEAPTAPE_RETURN_IF_ERROR(await_op());
  mallinfo_cost_ns_ += mallinfo_ns(shared.mallinfo_free_chunks);
  const uint64_t theirs = shared.mallinfo_arena + shared.mallinfo_hblkhd;
  const uint64_t ours = memory_->committed_bytes();
  mallinfo_largest_difference_ =
      std::max(mallinfo_largest_difference_, ours > theirs ? ours - theirs : theirs - ours);
  ++mallinfo_samples_;
  return {};
}

std::vector<Counter> NativeBackend::counters() {
  std::vector<Counter> counters{{"memoryCalls", memory_calls_}, {"pageFaults", page_faults_}};
  // A final check, at the end of the tape.
  if (options_.calls == Calls::kMade && worker_->shared().libc_serves_malloc != 0) {
    if (!compare_with_mallinfo().ok()) return counters;
  }
  if (mallinfo_samples_ != 0) {
    const WorkerShared& shared = worker_->shared();
    counters.push_back({"mallinfoArena", shared.mallinfo_arena});
    counters.push_back({"mallinfoHblkhd", shared.mallinfo_hblkhd});
    counters.push_back({"mallinfoSamples", mallinfo_samples_});
    counters.push_back({"mallinfoLargestDifference", mallinfo_largest_difference_});
  }
  append_statistics(counters);
  return counters;
}

// Only at the end, when its effects on the heap no longer show: jemalloc takes memory for its
// answer.
Result<std::span<const Statistic>> NativeBackend::ask_statistics() {
  WorkerShared& shared = worker_->shared();
  give(Turn::kSayMore);
  HEAPTAPE_RETURN_IF_ERROR(await_op());
  return std::span<const Statistic>(shared.statistics, shared.statistic_count);
}

void NativeBackend::append_statistics(std::vector<Counter>& counters) {
  if (options_.calls != Calls::kMade) return;
  const auto statistics = ask_statistics();
  if (!statistics.ok()) {
    no_statistics_ = statistics.error().message;
    return;
  }
  for (const Statistic& statistic : *statistics) {
    counters.push_back({statistic.name, statistic.value});
  }
}

Result<OwnStatistics> NativeBackend::own_statistics() {
  OwnStatistics own;
  if (options_.calls != Calls::kMade) return own;
  HEAPTAPE_ASSIGN_OR_RETURN(const auto statistics, ask_statistics());
  const auto find = [&statistics](std::string_view name) -> std::optional<uint64_t> {
    const auto found = std::ranges::find_if(
        statistics, [name](const Statistic& statistic) { return name == statistic.name; });
    return found == statistics.end() ? std::nullopt : std::optional(found->value);
  };
  own.allocated_bytes = find("jemallocAllocatedBytes");
  own.metadata_bytes = find("jemallocMetadataBytes");
  const auto physical = find("tcmallocPhysicalBytes");
  const auto heap = find("tcmallocHeapBytes");
  const auto unmapped = find("tcmallocPageheapUnmappedBytes");
  if (physical && heap && unmapped && *physical + *unmapped >= *heap) {
    own.metadata_bytes = *physical + *unmapped - *heap;
    own.cached_bytes = find("tcmallocCentralCacheFreeBytes").value_or(0) +
                       find("tcmallocTransferCacheFreeBytes").value_or(0) +
                       find("tcmallocThreadCacheFreeBytes").value_or(0);
  }
  return own;
}

// "5.3.0-0-g54eaed1d", "gperftools 2.10", or mimalloc's number.
std::string NativeBackend::version() {
  if (options_.calls != Calls::kMade) return "";
  if (worker_->shared().libc_serves_malloc != 0) return gnu_get_libc_version();
  // It comes with the statistics.
  if (worker_->shared().version[0] == '\0' && !ask_statistics().ok()) return "";
  std::string text = worker_->shared().version;
  text.erase(0, text.find_first_of("0123456789"));
  text = text.substr(0, text.find_first_not_of("0123456789."));
  if (text.find('.') != std::string::npos || text.empty()) return text;
  char version[kVersionBytes];
  base::write_mimalloc_version(version, std::atoi(text.c_str()));
  return version;
}

}  // namespace heaptape::allocators
