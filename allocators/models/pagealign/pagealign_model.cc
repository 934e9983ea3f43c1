#include "allocators/models/pagealign/pagealign_model.h"

namespace heaptape::allocators {

template <typename Pages, typename Registry>
Placement PagealignModel<Pages, Registry>::allocate_pages(uint64_t bytes, uint64_t alignment) {
  const PageMemory memory = pages_.take(bytes, alignment);
  if (memory.address == 0) return {};
  if constexpr (Registry::kKeepsNodes) {
    PageBlock& block = blocks_.at(memory.address);
    block = {memory.origin, bytes, 0, 0};
    if (!registry_.add(memory.address)) {
      pages_.give_back(memory.address, block);
      block = {};
      return {};
    }
  }
  pages_requested_ += bytes / kModelPageBytes + (bytes % kModelPageBytes != 0);
  return {memory.address, memory.usable_bytes};
}

template <typename Pages, typename Registry>
void PagealignModel<Pages, Registry>::release_pages(
    uint64_t address, PageBlock& block) requires Registry::kKeepsNodes {
  registry_.remove(address);
  pages_.give_back(address, block);
  block = {};
}

template <typename Pages, typename Registry>
Placement PagealignModel<Pages, Registry>::reallocate(uint64_t address, uint64_t bytes) {
  if constexpr (Registry::kKeepsNodes) {
    if (PageBlock* const block = blocks_.find(address)) {
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
    if (PageBlock* const block = blocks_.find(address)) {
      release_pages(address, *block);
      return;
    }
  }
  base_->release(address);
}

template <typename Pages, typename Registry>
std::vector<Counter> PagealignModel<Pages, Registry>::counters() const {
  std::vector<Counter> list;
  registry_.add_counters(list);
  pages_.add_counters(list);
  list.push_back({"pagesRequested", pages_requested_});
  for (const Counter& counter : base_->counters()) {
    list.push_back({"base." + counter.name, counter.value});
  }
  return list;
}

template <typename Pages, typename Registry>
std::vector<schema::Parameter> PagealignModel<Pages, Registry>::parameters() {
  return {{"base", 0, "the malloc underneath", base_model_names()}};
}

template class PagealignModel<MappedPages, ListRegistry>;
template class PagealignModel<MappedPages, HashRegistry>;
template class PagealignModel<PaddedPages, ListRegistry>;
template class PagealignModel<AlignedPages, NoRegistry>;

}  // namespace heaptape::allocators
