#include "allocators/models/slabs/slab_bins.h"

#include <algorithm>
#include <bit>

namespace heaptape::allocators::slabs {
namespace {

// Takes the lowest `count` free regions of a slab, which has at least that many.
void take_lowest(Extent& slab, uint32_t count, uint64_t* blocks) {
  const uint64_t region_bytes = kSlabs[slab.size_class].region_bytes;
  slab.free_count -= count;
  for (uint32_t word = 0; count > 0; ++word) {
    uint64_t bits = slab.free_regions[word];
    for (; bits != 0 && count > 0; bits &= bits - 1, --count) {
      const uint32_t region = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
      *blocks++ = slab.base + region * region_bytes;
    }
    slab.free_regions[word] = bits;
  }
}

}  // namespace

uint32_t SlabBins::take(uint32_t size_class, uint32_t count, uint64_t* blocks) {
  Bin& bin = bins_[size_class];
  uint32_t taken = 0;
  while (taken < count) {
    if ((bin.current == nullptr || bin.current->free_count == 0) && !refill(bin, size_class)) {
      break;
    }
    const uint32_t now = std::min(count - taken, bin.current->free_count);
    take_lowest(*bin.current, now, blocks + taken);
    taken += now;
  }
  return taken;
}

bool SlabBins::refill(Bin& bin, uint32_t size_class) {
  bin.current = bin.others.first();
  if (bin.current != nullptr) {
    bin.others.remove(*bin.current);
  } else {
    bin.current = new_slab(size_class);
  }
  return bin.current != nullptr;
}

Extent* SlabBins::new_slab(uint32_t size_class) {
  const SlabGeometry& geometry = kSlabs[size_class];
  Extent* const slab = pages_.allocate(geometry.bytes(), kPageBytes, geometry.region_bytes);
  if (slab == nullptr) return nullptr;
  slab->size_class = size_class;
  slab->is_slab = true;
  slab->free_count = geometry.regions;
  for (uint32_t first = 0, word = 0; first < geometry.regions; first += 64, ++word) {
    const uint32_t regions = std::min(geometry.regions - first, 64u);
    slab->free_regions[word] = ~uint64_t{0} >> (64 - regions);
  }
  if (geometry.pages > 2) index_.enter_all(*slab);
  ++counts_.created;
  return slab;
}

bool SlabBins::put_back(Extent& slab, uint64_t block) {
  const SlabGeometry& geometry = kSlabs[slab.size_class];
  Bin& bin = bins_[slab.size_class];
  const uint32_t region = geometry.region_at(block - slab.base);
  slab.free_regions[region / 64] |= uint64_t{1} << (region % 64);
  ++slab.free_count;
  if (slab.free_count == geometry.regions) {
    remove(bin, slab);
    return true;
  }
  if (slab.free_count == 1 && &slab != bin.current) offer(bin, slab);
  return false;
}

// A slab of one region was full before it was empty, and full slabs are in no list.
void SlabBins::remove(Bin& bin, Extent& slab) {
  if (&slab == bin.current) {
    bin.current = nullptr;
  } else if (kSlabs[slab.size_class].regions > 1) {
    bin.others.remove(slab);
  }
}

// A full slab now has room. The older of it and the current slab becomes current.
void SlabBins::offer(Bin& bin, Extent& slab) {
  if (bin.current == nullptr || bin.current->before(slab)) {
    bin.others.insert(slab);
    return;
  }
  if (bin.current->free_count > 0) bin.others.insert(*bin.current);
  bin.current = &slab;
}

void SlabBins::release_slab(Extent& slab) {
  ++counts_.freed;
  slab.is_slab = false;
  pages_.release(slab);
}

}  // namespace heaptape::allocators::slabs
