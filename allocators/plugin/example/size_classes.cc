// An allocator model to start from. Sizes are rounded up to powers of two, and a freed block waits
// for the next request of its size. Blocks below 64 KiB are cut from slabs of 64 KiB that stay
// committed; larger ones give their memory back. docs/howto-plugin.md walks through it.
#include <bit>
#include <vector>

#include "heaptape_plugin.h"

namespace {

class SizeClasses {
 public:
  static constexpr int kSlabLog2 = 16, kMaxLog2 = 40;

  SizeClasses(const heaptape_host* host, uint64_t min_block)
      : host_(host), min_block_(min_block), next_(host->window_begin) {}

  heaptape_block allocate(uint64_t size, uint64_t alignment) {
    if (size < alignment) size = alignment;  // a block begins on a multiple of its size
    const int log2 = std::bit_width((size < min_block_ ? min_block_ : size) - 1);
    if (log2 > kMaxLog2 || (free_[log2].empty() && !refill(log2))) return {0, 0};
    const heaptape_block block{free_[log2].back(), uint64_t{1} << log2};
    free_[log2].pop_back();
    const uint64_t end = block.address + block.usable_bytes;
    if (log2 >= kSlabLog2) host_->commit(host_->context, block.address, end);
    ++live;
    return block;
  }
  heaptape_block reallocate(uint64_t address, uint64_t size) {
    const uint64_t usable = uint64_t{1} << log2_at(address);
    if (size <= usable && size > usable / 2) return {address, usable};
    const heaptape_block moved = allocate(size, 0);
    if (moved.address != 0) release(address);
    return moved;
  }
  void release(uint64_t address) {
    const int log2 = log2_at(address);
    const uint64_t end = address + (uint64_t{1} << log2);
    if (log2 >= kSlabLog2) host_->decommit(host_->context, address, end);
    free_[log2].push_back(address);
    --live;
  }

  uint64_t live = 0, slabs = 0, slab_bytes = 0;

 private:
  // Makes new blocks of one size: a slab full, or one block larger than a slab.
  bool refill(int log2) {
    const uint64_t size = uint64_t{1} << log2;
    const uint64_t bytes = uint64_t{1} << (log2 < kSlabLog2 ? kSlabLog2 : log2);
    const uint64_t begin = (next_ + bytes - 1) & ~(bytes - 1);
    if (begin + bytes > host_->window_end) return false;
    next_ = begin + bytes;
    log2_at(begin) = static_cast<uint8_t>(log2);
    for (uint64_t end = next_; end > begin; end -= size) free_[log2].push_back(end - size);
    if (log2 < kSlabLog2) host_->commit(host_->context, begin, next_);
    ++slabs, slab_bytes += bytes;
    return true;
  }
  uint8_t& log2_at(uint64_t address) {
    const uint64_t slab = (address - host_->window_begin) >> kSlabLog2;
    if (slab >= log2_of_slab_.size()) log2_of_slab_.resize(2 * slab + 1);
    return log2_of_slab_[slab];
  }

  const heaptape_host* host_;
  uint64_t min_block_;
  uint64_t next_;                             // addresses from here on are unused
  std::vector<uint64_t> free_[kMaxLog2 + 1];  // by the log2 of their size
  std::vector<uint8_t> log2_of_slab_;         // log2 of the size of its blocks
};

SizeClasses& model(void* self) {
  return *static_cast<SizeClasses*>(self);
}

void* create(const heaptape_host* host, const uint64_t* values) {
  if (std::has_single_bit(values[0]) && values[0] >= 16) return new SizeClasses(host, values[0]);
  host->fail(host->context, "min_block must be a power of two, 16 or more");
  return nullptr;
}

heaptape_plugin describe() {
  static const heaptape_parameter parameters[] = {
      {"min_block", "bytes of the smallest blocks", 16, nullptr}};
  static const char* const counters[] = {"slabsMade", "slabBytes"};
  heaptape_plugin p = {};
  p.struct_size = sizeof p, p.abi_version = HEAPTAPE_PLUGIN_ABI;
  p.name = "size-classes", p.description = "powers of two in slabs of 64 KiB";
  p.granule_bytes = 16;
  p.parameters = parameters, p.parameter_count = std::size(parameters);
  p.counter_names = counters, p.counter_count = std::size(counters);
  p.create = create;
  p.destroy = [](void* self) { delete &model(self); };
  p.allocate = [](void* self, uint64_t size, uint64_t alignment, uint32_t) {
    return model(self).allocate(size, alignment);
  };
  p.reallocate = [](void* self, uint64_t address, uint64_t size) {
    return model(self).reallocate(address, size);
  };
  p.release = [](void* self, uint64_t address) { model(self).release(address); };
  p.live_blocks = [](void* self) { return model(self).live; };
  p.read_counters = [](void* self, uint64_t* values) {
    values[0] = model(self).slabs, values[1] = model(self).slab_bytes;
  };
  return p;
}

}  // namespace

const heaptape_plugin* heaptape_plugin_v1(void) {
  static const heaptape_plugin plugin = describe();
  return &plugin;
}
