// The two CVS scenarios: one checkout, with two ways to get a buffer for each page of the file.
#include <algorithm>
#include <bit>
#include <deque>
#include <utility>

#include "scenarios/pagealign_calls.h"
#include "scenarios/scenario_list.h"

namespace heaptape::scenarios {
namespace {

constexpr uint64_t kDescriptorBytes = 32;  // struct buffer_data: next, text, bufp, size

enum class Drain : uint64_t { kAll, kWindow, kNone };
enum class Order : uint64_t { kFifo, kLifo, kRandom };

std::vector<Parameter> checkout_parameters() {
  return {
      {"bytes", uint64_t{2} << 30, "file size in bytes; each whole page is one buffer"},
      {"page",
       kPageBytes,
       "bytes per buffer, rounded up to a power of two",
       {},
       kPageBytes,
       2 << 20},
      choice("drain", Drain::kAll,
             "when buffers are freed: after the last is read, when 'window' are full, never",
             {"all", "window", "none"}),
      {"window", 64, "with drain=window: most full buffers at a time"},
      choice("order", Order::kFifo, "order of the frees; CVS frees first to last",
             {"fifo", "lifo", "random"}),
      {"seed", 88'172'645'463'325'252, "seed of the random order"},
  };
}

uint64_t page_bytes_of(const Values& values) {
  return std::bit_ceil(values["page"]);
}

// Buffers: take() a buffer, give(buffer) it back.
template <typename Buffers>
void check_out(const Values& values, Buffers& buffers) {
  const auto drain = values.get<Drain>("drain");
  const auto order = values.get<Order>("order");
  const uint64_t window = drain == Drain::kWindow ? std::max<uint64_t>(values["window"], 1) : 0;
  Random random(values["seed"]);
  std::deque<decltype(buffers.take())> full;
  const auto give_one = [&] {
    if (order == Order::kRandom) std::swap(full.front(), full[random.below(full.size())]);
    buffers.give(order == Order::kLifo ? full.back() : full.front());
    order == Order::kLifo ? full.pop_back() : full.pop_front();
  };
  for (uint64_t left = values["bytes"] / page_bytes_of(values); left != 0; --left) {
    full.push_back(buffers.take());
    if (full.size() == window) give_one();
  }
  if (drain == Drain::kNone) return;
  while (!full.empty()) give_one();
}

// CVS 1.12, src/buffer.c: a buffer is a descriptor and then a block of pagealign_alloc; the block
// is freed first.
class PagealignBuffers {
 public:
  struct Buffer {
    Block descriptor;
    PageBlock page;
  };

  PagealignBuffers(HeapWriter& heap, const Values& values)
      : heap_(heap),
        page_bytes_(page_bytes_of(values)),
        pagealign_(heap, values.get<PagealignCalls::Via>("via"), page_bytes_) {}

  Buffer take() {
    const Block descriptor = heap_.malloc(kDescriptorBytes);
    return {descriptor, pagealign_.allocate(page_bytes_)};
  }
  void give(const Buffer& buffer) {
    pagealign_.release(buffer.page);
    heap_.free(Block(buffer.descriptor));
  }

 private:
  HeapWriter& heap_;
  uint64_t page_bytes_;
  PagealignCalls pagealign_;
};

// CVS 1.11 as in OpenBSD's gnu/usr.bin/cvs: an empty free list is refilled with sixteen buffers.
// The list is last in, first out; malloc never sees which buffer it hands out.
class PooledBuffers {
 public:
  struct Buffer {};

  PooledBuffers(HeapWriter& heap, const Values& values)
      : heap_(heap), page_bytes_(page_bytes_of(values)) {}

  Buffer take() {
    if (free_count_ == 0) {
      heap_.malloc(kBuffersATime * kDescriptorBytes);
      heap_.valloc(kBuffersATime * page_bytes_);
      free_count_ = kBuffersATime;
    }
    --free_count_;
    return {};
  }
  void give(const Buffer&) { ++free_count_; }

 private:
  static constexpr uint64_t kBuffersATime = 16;

  HeapWriter& heap_;
  uint64_t page_bytes_;
  uint64_t free_count_ = 0;
};

template <typename Buffers>
void generate(const Values& values, schema::TapeWriter& tape) {
  HeapWriter heap(tape);
  Buffers buffers(heap, values);
  check_out(values, buffers);
}

}  // namespace

Scenario cvs_pagealign_scenario() {
  std::vector<Parameter> parameters = checkout_parameters();
  parameters.push_back(PagealignCalls::parameter());
  return {"cvs-pagealign", "CVS sends a large file from page-aligned buffers, freed first to last",
          std::move(parameters), generate<PagealignBuffers>};
}

Scenario openbsd_cvs_scenario() {
  return {"openbsd-cvs",
          "the same file in OpenBSD's CVS: buffers allocated 16 at a time, never freed",
          checkout_parameters(), generate<PooledBuffers>};
}

}  // namespace heaptape::scenarios
