#include "schema/tape/event_encoder.h"

#include <capnp/message.h>

#include "schema/tape/tape.capnp.h"
#include "schema/tape/wire_words.h"

namespace heaptape::schema {
namespace {

constexpr unsigned kSegmentWords = 1 << 16;

void set_column(wire::Column::Builder column, wire::Encoding encoding,
                std::span<const uint8_t> bytes) {
  column.setEncoding(encoding);
  column.setData(capnp::Data::Reader(bytes.data(), bytes.size()));
}

void set_sample(wire::ProcessSample::Builder out, const ProcessSample& sample) {
  out.setEvent(sample.event);
  out.setTimeNs(sample.time_ns);
  out.setResidentBytes(sample.resident_bytes);
  auto regions = out.initRegions(static_cast<unsigned>(sample.regions.size()));
  for (unsigned i = 0; i < regions.size(); ++i) {
    regions[i].setBegin(sample.regions[i].begin);
    regions[i].setBytes(sample.regions[i].bytes());
  }
}

}  // namespace

void EventEncoder::start_run(uint32_t thread) {
  end_run();
  run_thread_ = thread;
}

void EventEncoder::end_run() {
  if (run_length_ == 0) return;
  threads_.put(run_thread_);
  threads_.put(run_length_);
  run_length_ = 0;
}

void EventEncoder::add_time(uint64_t time_ns) {
  if (count_ == time_count_ || time_ns < last_time_ns_) return;  // nothing new to place in time
  times_.put(count_ - time_count_);
  times_.put(time_ns - chunk_time_ns_);
  time_count_ = count_;
  last_time_ns_ = chunk_time_ns_ = time_ns;
}

base::Result<std::vector<uint64_t>> EventEncoder::build(uint64_t first_event, FreedEncoding freed) {
  end_run();
  const auto fill = [&](capnp::MessageBuilder& message) {
    auto chunk = message.initRoot<wire::EventChunk>();
    chunk.setFirstEvent(first_event);
    chunk.setCount(count_);
    chunk.setUnitLog2(static_cast<uint8_t>(unit_log2_));
    set_column(chunk.initOps(), wire::Encoding::BYTES, ops_.bytes());
    set_column(chunk.initSizes(), wire::Encoding::VARINT, sizes_.bytes());
    set_column(chunk.initAddresses(), wire::Encoding::ADDRESS_SAME_CLASS, addresses_.bytes());
    set_column(chunk.initFreed(),
               freed == FreedEncoding::kLastFreed ? wire::Encoding::ADDRESS_LAST_FREED
                                                  : wire::Encoding::ADDRESS_LAST_USED,
               freed_column(freed));
    set_column(chunk.initAlignments(), wire::Encoding::VARINT, alignments_.bytes());
    set_column(chunk.initThreads(), wire::Encoding::VARINT, threads_.bytes());
    set_column(chunk.initTimes(), wire::Encoding::VARINT, times_.bytes());
    auto samples = chunk.initSamples(static_cast<unsigned>(samples_.size()));
    for (unsigned i = 0; i < samples.size(); ++i) set_sample(samples[i], samples_[i]);
  };
  return build_message("a chunk of events", fill, kSegmentWords);
}

void EventEncoder::clear() {
  for (ColumnWriter* column : {&ops_, &sizes_, &addresses_, &freed_by_freed_, &freed_by_used_,
                               &alignments_, &threads_, &times_}) {
    column->clear();
  }
  new_address_.reset();
  last_freed_.reset();
  last_used_.reset();
  samples_.clear();
  count_ = 0;
  run_length_ = 0;
  time_count_ = 0;
  chunk_time_ns_ = 0;
}

}  // namespace heaptape::schema
