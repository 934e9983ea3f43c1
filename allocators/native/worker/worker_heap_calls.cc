#include "allocators/native/worker/worker_heap_calls.h"

#include <malloc.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "allocators/native/worker/worker_entry_points.h"

// As in the libraries' headers. The functions of a library that is not loaded are null.
extern "C" {
// glibc 2.33
struct mallinfo2 mallinfo2(void) __attribute__((weak));
// jemalloc 5
int mallctl(const char* name, void* old_value, size_t* old_bytes, void* new_value, size_t new_bytes)
    __attribute__((weak));
// mimalloc 2
void mi_collect(bool force) __attribute__((weak));
void mi_option_set(int option, long value) __attribute__((weak));
void mi_process_info(size_t* elapsed_ms, size_t* user_ms, size_t* system_ms, size_t* resident,
                     size_t* peak_resident, size_t* committed, size_t* peak_committed,
                     size_t* page_faults) __attribute__((weak));
int mi_version(void) __attribute__((weak));
// gperftools 2
const char* tc_version(int* major, int* minor, const char** patch) __attribute__((weak));
void MallocExtension_ReleaseFreeMemory(void) __attribute__((weak));
void MallocExtension_ReleaseToSystem(size_t bytes) __attribute__((weak));
int MallocExtension_SetNumericProperty(const char* property, size_t value) __attribute__((weak));
int MallocExtension_GetNumericProperty(const char* property, size_t* value) __attribute__((weak));
}

namespace heaptape::allocators {
namespace {

struct NamedStatistic {
  const char* name;      // the library's name
  const char* reported;  // the report's name
};

constexpr NamedStatistic kJemallocStatistics[] = {
    {"stats.allocated", "jemallocAllocatedBytes"},
    {"stats.active", "jemallocActiveBytes"},
    {"stats.metadata", "jemallocMetadataBytes"},
    {"stats.resident", "jemallocResidentBytes"},
    {"stats.mapped", "jemallocMappedBytes"},
    {"stats.retained", "jemallocRetainedBytes"},
    {"stats.arenas.4096.dirty_purged", "jemallocPurgedPages"},  // MALLCTL_ARENAS_ALL
};
constexpr NamedStatistic kTcmallocStatistics[] = {
    {"generic.current_allocated_bytes", "tcmallocAllocatedBytes"},
    {"generic.heap_size", "tcmallocHeapBytes"},
    {"generic.total_physical_bytes", "tcmallocPhysicalBytes"},
    {"tcmalloc.central_cache_free_bytes", "tcmallocCentralCacheFreeBytes"},
    {"tcmalloc.transfer_cache_free_bytes", "tcmallocTransferCacheFreeBytes"},
    {"tcmalloc.thread_cache_free_bytes", "tcmallocThreadCacheFreeBytes"},
    {"tcmalloc.pageheap_free_bytes", "tcmallocPageheapFreeBytes"},
    {"tcmalloc.pageheap_unmapped_bytes", "tcmallocPageheapUnmappedBytes"},
};
static_assert(sizeof kJemallocStatistics / sizeof(NamedStatistic) <= kMaxStatistics);
static_assert(sizeof kTcmallocStatistics / sizeof(NamedStatistic) <= kMaxStatistics);

bool has_malloc_trim = false;
bool is_glibc = false;
bool has_mallctl = false;
bool has_mi_collect = false;
bool has_mi_option_set = false;
bool has_mi_process_info = false;
bool has_release_free_memory = false;
bool has_release_to_system = false;
bool has_numeric_property = false;
bool has_set_numeric_property = false;
bool has_mi_version = false;
bool has_tc_version = false;

void append(Statistic* statistics, uint32_t& count, const char* name, uint64_t value) {
  strncpy(statistics[count].name, name, kStatisticNameBytes - 1);
  statistics[count++].value = value;
}

uint32_t read_jemalloc(Statistic* statistics) {
  uint64_t epoch = 1;  // writing it updates the statistics
  uint32_t count = 0;
  if (mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch) != 0) return 0;
  for (const NamedStatistic& statistic : kJemallocStatistics) {
    size_t value = 0;
    size_t bytes = sizeof value;
    if (mallctl(statistic.name, &value, &bytes, nullptr, 0) != 0) continue;
    append(statistics, count, statistic.reported, value);
  }
  return count;
}

uint32_t read_mimalloc(Statistic* statistics) {
  size_t committed = 0;
  size_t peak_committed = 0;
  size_t other = 0;
  uint32_t count = 0;
  mi_process_info(&other, &other, &other, &other, &other, &committed, &peak_committed, &other);
  append(statistics, count, "mimallocCommittedBytes", committed);
  append(statistics, count, "mimallocPeakCommittedBytes", peak_committed);
  return count;
}

uint32_t read_tcmalloc(Statistic* statistics) {
  uint32_t count = 0;
  for (const NamedStatistic& statistic : kTcmallocStatistics) {
    size_t value = 0;
    if (MallocExtension_GetNumericProperty(statistic.name, &value) == 0) continue;
    append(statistics, count, statistic.reported, value);
  }
  return count;
}

template <typename Value>
bool write_mallctl(const char* name, Value value) {
  return mallctl(name, nullptr, nullptr, &value, sizeof value) == 0;
}

bool call_mallctl(const char* name) {
  return mallctl(name, nullptr, nullptr, nullptr, 0) == 0;
}

// "arena.INDEX.NAME". The index as jemalloc has it: below 2^32.
struct ArenaName {
  ArenaName(int64_t index, const char* name) {
    char* at = text;
    for (const char* from = "arena."; *from != 0;) *at++ = *from++;
    char digits[16];
    int count = 0;
    auto rest = static_cast<uint32_t>(index);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count > 0) *at++ = digits[--count];
    *at++ = '.';
    strncpy(at, name, sizeof text - static_cast<size_t>(at - text) - 1);
  }
  char text[64] = {};
};

bool is_of_family(schema::SteeringFamily family) {
  switch (family) {
    case schema::SteeringFamily::kGlibc:
      return is_glibc;
    case schema::SteeringFamily::kJemalloc:
      return has_mallctl;
    case schema::SteeringFamily::kMimalloc:
      return has_mi_collect && has_mi_option_set && has_mi_version;
    case schema::SteeringFamily::kTcmalloc:
      return has_release_free_memory && has_release_to_system && has_set_numeric_property;
  }
  return false;
}

// Requires that the library is of the op's family. False if it refuses.
bool make_steering_call(schema::SteeringOp op, int64_t first, int64_t second) {
  using schema::SteeringOp;
  switch (op) {
    case SteeringOp::kMallopt:
      return mallopt(static_cast<int>(first), static_cast<int>(second)) != 0;
    case SteeringOp::kMallocTrim:
      malloc_trim(static_cast<size_t>(first));
      return true;
    case SteeringOp::kArenaPurge:
      return call_mallctl(ArenaName(first, "purge").text);
    case SteeringOp::kArenaDecay:
      return call_mallctl(ArenaName(first, "decay").text);
    case SteeringOp::kArenaDirtyDecay:
      return write_mallctl(ArenaName(first, "dirty_decay_ms").text, ssize_t{second});
    case SteeringOp::kArenaMuzzyDecay:
      return write_mallctl(ArenaName(first, "muzzy_decay_ms").text, ssize_t{second});
    case SteeringOp::kDefaultDirtyDecay:
      return write_mallctl("arenas.dirty_decay_ms", ssize_t{first});
    case SteeringOp::kDefaultMuzzyDecay:
      return write_mallctl("arenas.muzzy_decay_ms", ssize_t{first});
    case SteeringOp::kFlushThreadCache:
      return call_mallctl("thread.tcache.flush");
    case SteeringOp::kEnableThreadCache:
      return write_mallctl("thread.tcache.enabled", first != 0);
    case SteeringOp::kBackgroundThread:
      return write_mallctl("background_thread", first != 0);
    case SteeringOp::kMimallocCollect:
      mi_collect(first != 0);
      return true;
    case SteeringOp::kMimallocOption:
      // Version 1 does not check the number. The first three print.
      if (mi_version() < 200 || first <= 2 || first >= 32) return false;
      mi_option_set(static_cast<int>(first), static_cast<long>(second));
      return true;
    case SteeringOp::kReleaseFreeMemory:
      MallocExtension_ReleaseFreeMemory();
      return true;
    case SteeringOp::kReleaseToSystem:
      MallocExtension_ReleaseToSystem(static_cast<size_t>(first));
      return true;
    case SteeringOp::kThreadCacheBytes:
      return MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes",
                                                static_cast<size_t>(first)) != 0;
  }
  return false;
}

}  // namespace

void find_heap_calls(const void* library) {
  has_malloc_trim = is_in(library, malloc_trim);
  is_glibc = is_in(library, write);
  has_mallctl = is_in(library, mallctl);
  has_mi_collect = is_in(library, mi_collect);
  has_mi_option_set = is_in(library, mi_option_set);
  has_mi_process_info = is_in(library, mi_process_info);
  has_release_free_memory = is_in(library, MallocExtension_ReleaseFreeMemory);
  has_release_to_system = is_in(library, MallocExtension_ReleaseToSystem);
  has_numeric_property = is_in(library, MallocExtension_GetNumericProperty);
  has_set_numeric_property = is_in(library, MallocExtension_SetNumericProperty);
  has_mi_version = is_in(library, mi_version);
  has_tc_version = is_in(library, tc_version);
}

bool give_back_memory() {
  if (has_malloc_trim) {
    malloc_trim(0);
  } else if (has_mallctl) {
    // Blocks that this thread caches would keep their pages in use. Fails if there are no caches.
    mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    return mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0) == 0;  // 4096: all arenas
  } else if (has_mi_collect) {
    mi_collect(true);
  } else if (has_release_free_memory) {
    MallocExtension_ReleaseFreeMemory();
  } else {
    return false;
  }
  return true;
}

SteeringOutcome steer(schema::SteeringOp op, int64_t first, int64_t second) {
  const schema::SteeringInfo info = schema::steering_info(op);
  if (is_of_family(info.family)) {
    return make_steering_call(op, first, second) ? SteeringOutcome::kRepeated
                                                 : SteeringOutcome::kRefused;
  }
  const bool has_counterpart = info.gives_back() && give_back_memory();
  return has_counterpart ? SteeringOutcome::kCounterpart : SteeringOutcome::kIgnored;
}

void read_mallinfo(WorkerShared& shared) {
  if (shared.libc_serves_malloc == 0 || mallinfo2 == nullptr) return;
  const struct mallinfo2 info = mallinfo2();
  shared.mallinfo_arena = info.arena;
  shared.mallinfo_hblkhd = info.hblkhd;
  shared.mallinfo_free_chunks = info.ordblks + info.smblks;
}

void read_version(char* text) {
  const char* said = nullptr;
  if (has_mallctl) {
    size_t bytes = sizeof said;
    if (mallctl("version", &said, &bytes, nullptr, 0) != 0) said = nullptr;
  } else if (has_tc_version) {
    said = tc_version(nullptr, nullptr, nullptr);
  } else if (has_mi_version) {
    char digits[16] = {};
    char* first = digits + sizeof digits - 1;
    for (unsigned rest = static_cast<unsigned>(mi_version()); rest != 0; rest /= 10) {
      *--first = static_cast<char>('0' + rest % 10);
    }
    strncpy(text, first, kVersionBytes - 1);
  }
  if (said != nullptr) strncpy(text, said, kVersionBytes - 1);
}

uint32_t read_statistics(Statistic* statistics) {
  if (has_mallctl) return read_jemalloc(statistics);
  if (has_mi_process_info) return read_mimalloc(statistics);
  if (has_numeric_property) return read_tcmalloc(statistics);
  return 0;
}

}  // namespace heaptape::allocators
