// Turns events into the columns of one chunk, as they come. See docs/tape-format.md, "Columns".
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "schema/tape/column_codec.h"
#include "schema/tape/event.h"
#include "schema/tape/tape_format.h"

namespace heaptape::schema {

// Which of two predictions the freed-address column of a chunk is written with.
enum class FreedEncoding : uint8_t { kLastFreed, kLastUsed };

// A trial chunk is encoded both ways, for the writer to choose.
enum class FreedMode : uint8_t { kLastFreed, kLastUsed, kTrial };

// Usage: append until full() or !accepts(event); then build() and clear().
// One thread. Addresses must be below kAddressLimit.
class EventEncoder {
 public:
  bool full() const { return count_ == kEventsPerChunk; }
  bool empty() const { return count_ == 0 && samples_.empty(); }
  uint32_t count() const { return count_; }

  // False when an address is not a multiple of the unit: end the chunk, lower the unit, go on.
  bool accepts(const Event& event) const {
    return ((event.address | event.freed_address) & ((uint64_t{1} << unit_log2_) - 1)) == 0;
  }
  // Only while empty. `unit_log2` is how many low address bits are always zero (4 for glibc).
  void set_unit_log2(int unit_log2) { unit_log2_ = unit_log2; }

  // Only while empty.
  void set_freed_mode(FreedMode mode) { freed_mode_ = mode; }

  // Requires !full() and accepts(event).
  void append(const Event& event) {
    const OpInfo& info = op_info(event.op);
    ops_.put_byte(static_cast<uint8_t>(event.op));
    if (event.thread != run_thread_) [[unlikely]]
      start_run(event.thread);
    ++run_length_;
    if (info.kind != OpKind::kAllocate) append_freed(event.thread, event.freed_address);
    if (info.kind != OpKind::kRelease) append_block(event);
    if (info.aligned) [[unlikely]]
      alignments_.put(event.alignment);
    ++count_;
  }

  // Time since the recording began, at the calls appended so far. Left out where there are none
  // since the last time, and where it would go back.
  void add_time(uint64_t time_ns);
  // sample.event must be the number of calls written so far on the whole tape.
  void add_sample(ProcessSample sample) { samples_.push_back(std::move(sample)); }

  // The Cap'n Proto message of this chunk, as 8-byte words ready to compress. `first_event` is the
  // number of calls before the chunk; `freed` must be among what the mode produced. Fails with kIo
  // where Cap'n Proto cannot build it, for want of memory, say.
  base::Result<std::vector<uint64_t>> build(uint64_t first_event, FreedEncoding freed);
  std::span<const uint8_t> freed_column(FreedEncoding encoding) const {
    return encoding == FreedEncoding::kLastFreed ? freed_by_freed_.bytes() : freed_by_used_.bytes();
  }
  // Forgets the events; keeps the unit and the time of the last sample.
  void clear();

 private:
  void append_freed(uint32_t thread, uint64_t address) {
    if (freed_mode_ != FreedMode::kLastUsed) {
      freed_by_freed_.put(AddressCode::encode(address, last_freed_.predict(thread), unit_log2_));
    }
    if (freed_mode_ != FreedMode::kLastFreed) {
      freed_by_used_.put(AddressCode::encode(address, last_used_.predict(thread), unit_log2_));
    }
    last_freed_.update(thread, address);
    last_used_.update(thread, address);
  }
  void append_block(const Event& event) {
    sizes_.put(event.size);
    const uint64_t predicted = new_address_.predict(event.thread, event.size);
    addresses_.put(AddressCode::encode(event.address, predicted, unit_log2_));
    new_address_.update(event.thread, event.size, event.address);
    last_used_.update(event.thread, event.address);
  }
  void start_run(uint32_t thread);
  void end_run();

  ColumnWriter ops_, sizes_, addresses_, freed_by_freed_, freed_by_used_;
  ColumnWriter alignments_{1 << 8}, threads_{1 << 8}, times_{1 << 8};
  NewAddressPredictor new_address_;
  LastAddress last_freed_, last_used_;
  std::vector<ProcessSample> samples_;
  uint32_t count_ = 0;
  uint32_t run_thread_ = 0;
  uint32_t run_length_ = 0;
  uint32_t time_count_ = 0;     // count_ at the last time sample
  uint64_t last_time_ns_ = 0;   // of the tape so far
  uint64_t chunk_time_ns_ = 0;  // of this chunk; a chunk's first sample counts from 0
  int unit_log2_ = 4;
  FreedMode freed_mode_ = FreedMode::kTrial;
};

}  // namespace heaptape::schema
