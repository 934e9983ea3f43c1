// The pagealign models: gnulib's pagealign_alloc over another model, as CVS used it. A request
// aligned to a page or more is a call of pagealign_alloc, the free of such a block one of
// pagealign_free; everything else goes to the model underneath. docs/models/pagealign.md.
//
//   PagealignModel --+-- page source: MappedPages | PaddedPages | AlignedPages --.
//                    +-- registry:    ListRegistry | HashRegistry | NoRegistry --+-- base model
//
// Counters are those of the registry and of the page source, pagesRequested, and those of the base
// model prefixed with "base.".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocators/models/model.h"
#include "allocators/models/pagealign/page_sources.h"
#include "allocators/models/pagealign/registries.h"

namespace heaptape::allocators {

template <typename Pages, typename Registry>
class PagealignModel {
 public:
  PagealignModel(AddressSpace& space, const base::Values& options)
      : base_(make_base_model(options, space)), pages_(space, *base_), registry_(*base_, blocks_) {}
  PagealignModel(const PagealignModel&) = delete;
  PagealignModel& operator=(const PagealignModel&) = delete;

  // As AllocatorModel says.
  Placement allocate(uint64_t bytes, uint64_t alignment) {
    return alignment < kPageBytes ? base_->allocate(bytes, alignment)
                                  : allocate_pages(bytes, alignment);
  }
  Placement allocate_zeroed(uint64_t bytes) { return base_->allocate_zeroed(bytes); }
  // pagealign_alloc has no realloc: a page block becomes an ordinary one, unless free(), and so
  // realloc(), takes it.
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);

  void set_thread(uint32_t thread) { base_->set_thread(thread); }
  void end_thread(uint32_t thread) { base_->end_thread(thread); }
  void set_time(uint64_t time_ns) { base_->set_time(time_ns); }

  std::vector<AddressRange> absent() const { return base_->absent(); }
  std::vector<Counter> counters() const;
  // Without a registry, only the base does work.
  uint64_t work() const {
    if constexpr (Registry::kKeepsNodes) return registry_.work();
    return base_->work();
  }
  const char* work_unit() const {
    if constexpr (Registry::kKeepsNodes) return Registry::work_unit();
    return base_->work_unit();
  }
  // For frees of page blocks: "137,438,691,328 nodes skipped over 524,288 frees".
  std::vector<GrowthCurve> growth() const
    requires Registry::kKeepsNodes
  {
    return {registry_.growth()};
  }
  BackendTraits traits() const { return base_->traits(); }
  static std::vector<base::Parameter> parameters();

 private:
  Placement allocate_pages(uint64_t bytes, uint64_t alignment);
  void release_pages(uint64_t address, pagealign::PageBlock& block);

  std::unique_ptr<AnyModel> base_;
  pagealign::PageBlocks blocks_;
  Pages pages_;
  Registry registry_;
  uint64_t pages_requested_ = 0;
};

template <typename Pages, typename Registry>
Placement PagealignModel<Pages, Registry>::allocate_pages(uint64_t bytes, uint64_t alignment) {
  const pagealign::PageMemory memory = pages_.take(bytes, alignment);
  if (memory.address == 0) return {};
  if constexpr (Registry::kKeepsNodes) {
    pagealign::PageBlock& block = blocks_.at(memory.address);
    block = {memory.origin, bytes, 0, 0};
    if (!registry_.add(memory.address)) {
      pages_.give_back(memory.address, block);
      block = {};
      return {};
    }
  }
  pages_requested_ += bytes / kPageBytes + (bytes % kPageBytes != 0);
  return {memory.address, memory.usable_bytes};
}

template <typename Pages, typename Registry>
void PagealignModel<Pages, Registry>::release_pages(uint64_t address, pagealign::PageBlock& block) {
  registry_.remove(address);
  pages_.give_back(address, block);
  block = {};
}

template <typename Pages, typename Registry>
Placement PagealignModel<Pages, Registry>::reallocate(uint64_t address, uint64_t bytes) {
  if constexpr (Registry::kKeepsNodes) {
    if (pagealign::PageBlock* const block = blocks_.find(address)) {
      const Placement moved = base_->allocate(bytes, 0);
      if (moved.address != 0) release_pages(address, *block);
      return moved;
    }
  }
  return base_->reallocate(address, bytes);
}

template <typename Pages, typename Registry>
void PagealignModel<Pages, Registry>::release(uint64_t address) {
  if constexpr (Registry::kKeepsNodes) {
    if (pagealign::PageBlock* const block = blocks_.find(address)) {
      release_pages(address, *block);
      return;
    }
  }
  base_->release(address);
}

template <typename Pages, typename Registry>
std::vector<Counter> PagealignModel<Pages, Registry>::counters() const {
  std::vector<Counter> list;
  registry_.append_counters(list);
  pages_.append_counters(list);
  list.push_back({"pagesRequested", pages_requested_});
  append_base_counters(list, *base_);
  return list;
}

template <typename Pages, typename Registry>
std::vector<base::Parameter> PagealignModel<Pages, Registry>::parameters() {
  return {base_model_parameter("the model underneath, in place of malloc")};
}

using PagealignList = PagealignModel<pagealign::MappedPages, pagealign::ListRegistry>;
using PagealignHash = PagealignModel<pagealign::MappedPages, pagealign::HashRegistry>;
using PagealignMalloc = PagealignModel<pagealign::PaddedPages, pagealign::ListRegistry>;
using PagealignMemalign = PagealignModel<pagealign::AlignedPages, pagealign::NoRegistry>;

static_assert(AllocatorModel<PagealignList>);
static_assert(AllocatorModel<PagealignHash>);
static_assert(AllocatorModel<PagealignMalloc>);
static_assert(AllocatorModel<PagealignMemalign>);

}  // namespace heaptape::allocators
