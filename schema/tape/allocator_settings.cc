#include "schema/tape/allocator_settings.h"

#include <algorithm>
#include <span>

namespace heaptape::schema {
namespace {

constexpr size_t kMostSettingBytes = 1024;

// mallopt(3), and malloc/malloc.c of glibc 2.36.
constexpr std::string_view kGlibcNames[] = {
    "MALLOC_ARENA_MAX", "MALLOC_ARENA_TEST", "MALLOC_MMAP_MAX_",       "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_PERTURB_",  "MALLOC_TOP_PAD_",   "MALLOC_TRIM_THRESHOLD_",
};
// The GNU C Library manual, "Memory Allocation Tunables", without those that check.
constexpr std::string_view kTunables[] = {
    "glibc.malloc.arena_max",      "glibc.malloc.arena_test",
    "glibc.malloc.hugetlb",        "glibc.malloc.mmap_max",
    "glibc.malloc.mmap_threshold", "glibc.malloc.mxfast",
    "glibc.malloc.perturb",        "glibc.malloc.tcache_count",
    "glibc.malloc.tcache_max",     "glibc.malloc.tcache_unsorted_limit",
    "glibc.malloc.top_pad",        "glibc.malloc.trim_threshold",
};
// jemalloc(3), versions 4 and 5.
constexpr std::string_view kJemallocOptions[] = {
    "background_thread",
    "cache_oblivious",
    "decay_time",
    "dirty_decay_ms",
    "dss",
    "hpa",
    "lg_chunk",
    "lg_dirty_mult",
    "lg_extent_max_active_fit",
    "lg_tcache_max",
    "max_background_threads",
    "metadata_thp",
    "muzzy_decay_ms",
    "narenas",
    "oversize_threshold",
    "percpu_arena",
    "purge",
    "retain",
    "slab_sizes",
    "tcache",
    "tcache_max",
    "tcache_nslots_large",
    "tcache_nslots_small_max",
    "tcache_nslots_small_min",
    "thp",
    "trust_madvise",
    "zero",
};
// include/mimalloc.h, versions 1 to 3, without those that print or take memory at the start.
constexpr std::string_view kMimallocNames[] = {
    "MIMALLOC_ABANDONED_PAGE_PURGE",
    "MIMALLOC_ABANDONED_PAGE_RESET",
    "MIMALLOC_ABANDONED_RECLAIM_ON_FREE",
    "MIMALLOC_ALLOW_DECOMMIT",
    "MIMALLOC_ALLOW_LARGE_OS_PAGES",
    "MIMALLOC_ARENA_EAGER_COMMIT",
    "MIMALLOC_ARENA_PURGE_MULT",
    "MIMALLOC_DECOMMIT_DELAY",
    "MIMALLOC_DECOMMIT_EXTEND_DELAY",
    "MIMALLOC_DISALLOW_ARENA_ALLOC",
    "MIMALLOC_DISALLOW_OS_ALLOC",
    "MIMALLOC_EAGER_COMMIT",
    "MIMALLOC_EAGER_COMMIT_DELAY",
    "MIMALLOC_EAGER_REGION_COMMIT",
    "MIMALLOC_LARGE_OS_PAGES",
    "MIMALLOC_LIMIT_OS_ALLOC",
    "MIMALLOC_MAX_SEGMENT_RECLAIM",
    "MIMALLOC_PAGE_RESET",
    "MIMALLOC_PURGE_DECOMMITS",
    "MIMALLOC_PURGE_DELAY",
    "MIMALLOC_PURGE_EXTEND_DELAY",
    "MIMALLOC_RESET_DECOMMITS",
    "MIMALLOC_RESET_DELAY",
    "MIMALLOC_SEGMENT_CACHE",
    "MIMALLOC_SEGMENT_DECOMMIT_DELAY",
    "MIMALLOC_SEGMENT_RESET",
    "MIMALLOC_USE_NUMA_NODES",
};
// docs/tcmalloc.html of gperftools 2.10.
constexpr std::string_view kTcmallocNames[] = {
    "TCMALLOC_AGGRESSIVE_DECOMMIT",
    "TCMALLOC_HEAP_LIMIT_MB",
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
    "TCMALLOC_RELEASE_RATE",
    "TCMALLOC_SKIP_MMAP",
    "TCMALLOC_SKIP_SBRK",
    "TCMALLOC_TRANSFER_NUM_OBJ",
};

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The parts of a list that `names` allow. Parts are "NAME=VALUE", with `equals` for '='.
std::string allowed_parts(std::string_view list, char separator, char equals,
                          std::span<const std::string_view> names) {
  std::string allowed;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    if (part.find(equals) == part.npos || !has(names, part.substr(0, part.find(equals)))) continue;
    if (!allowed.empty()) allowed += separator;
    allowed += part;
  }
  return allowed;
}

}  // namespace

bool is_plain_setting(std::string_view text) {
  return text.size() <= kMostSettingBytes && text.find('=') != text.npos &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::string setting_for(const std::string& family, const std::string& setting) {
  const size_t equals = setting.find('=');
  if (!is_plain_setting(setting)) return "";
  const std::string_view name = std::string_view(setting).substr(0, equals);
  const std::string_view value = std::string_view(setting).substr(equals + 1);
  const auto rebuilt = [name](const std::string& list) {
    return list.empty() ? "" : std::string(name) + "=" + list;
  };
  if (family == "glibc" && name == "GLIBC_TUNABLES") {
    return rebuilt(allowed_parts(value, ':', '=', kTunables));
  }
  if (family == "jemalloc" && name == "MALLOC_CONF") {
    return rebuilt(allowed_parts(value, ',', ':', kJemallocOptions));
  }
  const bool is_allowed = (family == "glibc" && has(kGlibcNames, name)) ||
                          (family == "mimalloc" && has(kMimallocNames, name)) ||
                          (family == "tcmalloc" && has(kTcmallocNames, name));
  return is_allowed ? setting : "";
}

std::vector<std::string> allocator_settings(std::string_view environment) {
  constexpr const char* kFamilies[] = {"glibc", "jemalloc", "mimalloc", "tcmalloc"};
  std::vector<std::string> settings;
  while (!environment.empty() && settings.size() < kMostSettings) {
    const std::string entry(environment.substr(0, environment.find('\0')));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
    const std::string name = entry.substr(0, entry.find('=') + 1);
    const bool is_known = std::ranges::any_of(
        settings, [&name](const std::string& setting) { return setting.starts_with(name); });
    if (is_known) continue;
    for (const char* const family : kFamilies) {
      std::string setting = setting_for(family, entry);
      if (setting.empty()) continue;
      settings.push_back(std::move(setting));
      break;
    }
  }
  return settings;
}

}  // namespace heaptape::schema
