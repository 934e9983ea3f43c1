// A plug-in whose every answer is made of fuzz bytes, behind the backend that replays use. Either
// its fault is found, or all that the engine was told fits together.
#include <deque>
#include <optional>

#include "allocators/models/model_backend.h"
#include "allocators/plugin/plugin_backend.h"
#include "base/check.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/plain_heap.h"

namespace heaptape::fuzz {
namespace {

using allocators::Placement;
using allocators::RegionEvent;
using allocators::ReplayKind;
using allocators::ReplayOp;

constexpr char kOwner[] = "'plugin:fuzz' (fuzz)";
constexpr uint32_t kSlots = 16;

// The plug-in. There is one at a time: `input` is that of the run.
struct FuzzedModel {
  Input& input;
  const heaptape_host* host = nullptr;
  uint64_t top = 0;        // its honest blocks lie below
  uint64_t committed = 0;  // up to here, for honest blocks
  uint64_t live = 0;
  uint64_t steps = 0;

  static inline FuzzedModel* current = nullptr;
  static FuzzedModel& of(void* model) { return *static_cast<FuzzedModel*>(model); }

  static void* create(const heaptape_host* host, const uint64_t*) {
    current->host = host;
    current->top = current->committed = host->window_begin;
    if (current->input.byte() % 32 == 1) return nullptr;
    current->misbehave();
    return current;
  }
  static heaptape_block allocate(void* model, uint64_t size, uint64_t alignment, uint32_t) {
    const heaptape_block block = of(model).answer(size, alignment);
    of(model).live += block.address != 0;
    return block;
  }
  static heaptape_block reallocate(void* model, uint64_t address, uint64_t size) {
    return of(model).input.byte() > 230 ? of(model).refuse(address) : of(model).answer(size, 0);
  }
  static void release(void* model, uint64_t) {
    --of(model).live;
    of(model).misbehave();
  }
  static void read_counters(void* model, uint64_t* values) {
    of(model).misbehave();
    values[0] = of(model).input.word();
  }
  static uint64_t live_blocks(void* model) { return of(model).live; }
  static void report_absent(void* model) { of(model).misbehave(); }
  static uint64_t work(void* model) { return of(model).steps += of(model).input.byte() % 8; }

  // Mostly nothing, so that runs get somewhere.
  void misbehave() {
    const uint8_t what = input.byte();
    if (what < 200) return;
    const uint64_t begin = what % 16 == 15 ? input.word() : place();
    const uint64_t end = what % 16 == 14 ? input.word() : begin + input.byte() % 8 * 4096;
    switch (what % 4) {
      case 0:
        return host->commit(host->context, begin, end);
      case 1:
        return host->decommit(host->context, begin, end);
      case 2:
        return host->absent(host->context, begin, end);
      default:
        if (what == 255) host->fail(host->context, what % 2 == 0 ? nullptr : "no reason");
    }
  }

  heaptape_block answer(uint64_t size, uint64_t alignment) {
    misbehave();
    const uint8_t choice = input.byte();
    if (choice == 255) return {input.word(), input.word()};
    if (choice == 254) return {0, 0};
    if (choice > 240) return {place(), size};
    return honest_block(std::min<uint64_t>(size, 1 << 20), std::max<uint64_t>(alignment, 16));
  }

  // The block stays, but its memory may not.
  heaptape_block refuse(uint64_t address) {
    const uint64_t page = base::page_down(address);
    if (input.byte() % 2 == 0) host->decommit(host->context, page, page + 4096);
    return {0, 0};
  }

  heaptape_block honest_block(uint64_t size, uint64_t alignment) {
    if (alignment > 1 << 20) return {0, 0};
    const uint64_t address = base::round_up(top, alignment);
    top = base::round_up(address + std::max<uint64_t>(size, 1), 16);
    if (top > committed) {
      const uint64_t end = base::page_up(top);
      host->commit(host->context, committed, end);
      committed = end;
    }
    return {address, size};
  }

  uint64_t place() { return host->window_begin + input.byte() % 16 * 4096; }
};

allocators::Plugin fuzzed_plugin() {
  allocators::Plugin plugin;
  plugin.name = "fuzz";
  plugin.work_unit = "steps";
  plugin.counter_names = {"count"};
  heaptape_plugin& table = plugin.table;
  table.granule_bytes = 16;
  table.create = FuzzedModel::create;
  table.destroy = [](void*) {};
  table.allocate = FuzzedModel::allocate;
  table.reallocate = FuzzedModel::reallocate;
  table.release = FuzzedModel::release;
  table.read_counters = FuzzedModel::read_counters;
  table.live_blocks = FuzzedModel::live_blocks;
  table.report_absent = FuzzedModel::report_absent;
  table.work = FuzzedModel::work;
  return plugin;
}

// The engine: makes calls, and holds what it is told against a plain heap.
class Play {
 public:
  explicit Play(Input& input)
      : input_(input),
        backend_(fuzzed_plugin(), std::vector<uint64_t>{}, allocators::HeapChecks::Blocks::kChecked,
                 std::string(kOwner)) {}

  void run() {
    auto regions = backend_.start();
    if (!fine(regions)) return;
    for (const RegionEvent& event : *regions) take_in(event);
    while (!input_.empty()) {
      if (!play_batch() || !check_residency()) return;
    }
    backend_.counters();
    backend_.growth();
  }

 private:
  template <typename Result>
  static bool fine(const Result& result) {
    HEAPTAPE_CHECK(result.ok() || result.error().message.starts_with(kOwner));
    return result.ok();
  }

  ReplayOp next_op() {
    ReplayOp op;
    const uint8_t choice = input_.byte();
    op.slot = choice % kSlots;
    op.size = 16 * input_.byte() + 1;
    if (occupied_[op.slot]) {
      op.kind = choice < 128 ? ReplayKind::kRealloc : ReplayKind::kFree;
    } else {
      op.kind = static_cast<ReplayKind>(1 + choice / kSlots % 7);
      const bool takes_alignment =
          op.kind >= ReplayKind::kMemalign && op.kind <= ReplayKind::kPosixMemalign;
      op.log2 = takes_alignment ? choice % 13 : 0;
    }
    occupied_[op.slot] = op.kind != ReplayKind::kFree;
    return op;
  }

  bool play_batch() {
    ops_.resize(1 + input_.byte() % 8);
    for (ReplayOp& op : ops_) op = next_op();
    allocators::ReplayBatch batch;
    batch.first_event = events_;
    batch.slot_limit = kSlots;
    batch.ops = ops_;
    allocators::BatchResult result;
    if (!fine(backend_.submit(batch)) || !fine(backend_.collect(result))) return false;
    events_ += ops_.size();
    auto region = result.regions.begin();
    for (uint32_t i = 0; i < ops_.size(); ++i) {
      const std::optional<AddressRange> old = take_block(ops_[i].slot);
      for (; region != result.regions.end() && region->op == i; ++region) take_in(*region);
      take_in(ops_[i], result.placements[i], old);
    }
    return true;
  }

  void take_in(const RegionEvent& event) {
    if (event.kind == RegionEvent::Kind::kCommit) {
      HEAPTAPE_CHECK(heap_.may_commit(event.range));
      heap_.committed.push_back(event.range);
    } else {
      HEAPTAPE_CHECK(heap_.may_decommit(event.range));
      heap_.remove_committed(event.range);
    }
  }

  std::optional<AddressRange> take_block(uint32_t slot) {
    const auto block = std::ranges::find(heap_.blocks, blocks_[slot].begin, &AddressRange::begin);
    if (block == heap_.blocks.end()) return std::nullopt;
    const AddressRange taken = *block;
    heap_.blocks.erase(block);
    return taken;
  }

  void take_in(const ReplayOp& op, const Placement& placed, std::optional<AddressRange> old) {
    blocks_[op.slot] = {};
    if (placed.address != 0) {
      HEAPTAPE_CHECK(
          heap_.may_place(placed.address, placed.usable_bytes, op.size, uint64_t{1} << op.log2));
      blocks_[op.slot] = heap_.granules(placed.address, placed.usable_bytes);
    } else if (op.kind == ReplayKind::kRealloc && old) {
      HEAPTAPE_CHECK(heap_.is_committed(*old));
      blocks_[op.slot] = *old;
    }
    if (blocks_[op.slot].begin != 0) heap_.blocks.push_back(blocks_[op.slot]);
  }

  bool check_residency() {
    const auto residency = backend_.residency(heap_.committed);
    if (!fine(residency)) return false;
    HEAPTAPE_CHECK(heap_.may_be_absent(*residency->absent));
    return true;
  }

  Input& input_;
  allocators::ModelBackend<allocators::PluginModel> backend_;
  PlainHeap heap_{16, {allocators::kModelBase, allocators::kWrapperBase}};
  std::vector<ReplayOp> ops_;
  uint64_t events_ = 0;
  bool occupied_[kSlots] = {};
  AddressRange blocks_[kSlots] = {};
};

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptape::fuzz;
  Input input(data, size);
  FuzzedModel model{.input = input};
  FuzzedModel::current = &model;
  Play(input).run();
  return 0;
}
