#include "allocators/catalog/model_list.h"

#include <algorithm>

#include "allocators/models/foresight/foresight_model.h"
#include "allocators/models/lmdb/lmdb_model.h"
#include "allocators/models/macos_large/macos_large_model.h"
#include "allocators/models/model_backend.h"
#include "allocators/models/pagealign/pagealign_model.h"
#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "allocators/models/runs/runs_model.h"
#include "allocators/models/slabs/slabs_model.h"
#include "allocators/models/textbook/buddy_heap.h"
#include "allocators/models/textbook/bump_heap.h"
#include "allocators/models/textbook/fit_heap.h"
#include "allocators/models/textbook/ideal_heap.h"
#include "allocators/models/textbook/segregated_heap.h"

namespace heaptape::allocators {
namespace {

template <AllocatorModel Model>
constexpr ModelEntry model(const char* name, const char* description, const char* family = nullptr,
                           const char* version = "", bool sees_time = false) {
  return {name,
          description,
          [](const base::Values& options, uint64_t recorded_break) -> std::unique_ptr<Backend> {
            return std::make_unique<ModelBackend<Model>>(RecordedBreak{recorded_break}, options);
          },
          Model::parameters,
          sees_time,
          family,
          version};
}

constexpr ModelEntry kModels[] = {
    model<PtmallocModel>("model:ptmalloc", "the malloc of glibc 2.36, address for address", "glibc",
                         "2.36"),
    model<RunsModel>("model:runs",
                     "classic jemalloc (mozjemalloc): runs of equal regions in 1 MiB chunks"),
    model<SlabsModel>("model:slabs",
                      "jemalloc 5.3.0: slabs and extents, thread caches, purging by decay",
                      "jemalloc", "5.3.0", true),
    model<MacosLargeModel>("model:macos-large",
                           "macOS libmalloc-116: a cache of freed large blocks over another model"),
    model<FirstFitModel>("model:first-fit", "one free list, the lowest hole that is large enough"),
    model<NextFitModel>("model:next-fit", "the same, searched from where the last search ended"),
    model<BestFitModel>("model:best-fit", "one free list, the smallest hole that is large enough"),
    model<BuddyModel>("model:buddy",
                      "binary buddies: blocks of 2^k bytes, split and joined in halves"),
    model<SegregatedModel>("model:segregated",
                           "size classes on pages of their own, nothing joined"),
    model<BumpModel>("model:bump", "an arena: freed memory is never reused"),
    model<IdealModel>("model:ideal",
                      "perfect compaction: the least memory that can hold the blocks"),
    {"model:foresight", "no block moves, but every lifetime is known: the limit of good placement",
     [](const base::Values& options, uint64_t) -> std::unique_ptr<Backend> {
       return std::make_unique<ForesightBackend>(options);
     },
     ForesightBackend::parameters, false, nullptr},
    model<PagealignList>("model:pagealign-list",
                         "gnulib's pagealign_alloc: mmap, blocks in a linked list"),
    model<PagealignHash>("model:pagealign-hash",
                         "gnulib's pagealign_alloc since 2025-09: mmap, blocks in a hash map"),
    model<PagealignMemalign>("model:pagealign-memalign",
                             "gnulib's pagealign_alloc by posix_memalign"),
    model<PagealignMalloc>("model:pagealign-malloc",
                           "gnulib's pagealign_alloc by malloc, blocks in a linked list"),
    model<LmdbModel>("model:lmdb", "LMDB 0.9.31's page allocator: a sorted list of free pages"),
};

}  // namespace

std::span<const ModelEntry> models() {
  return kModels;
}

const ModelEntry* find_model(std::string_view name) {
  const auto found = std::ranges::find(kModels, name, &ModelEntry::name);
  return found == std::end(kModels) ? nullptr : found;
}

}  // namespace heaptape::allocators
