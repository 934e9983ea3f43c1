#include "schema/tape/event_decoder.h"

#include <string>

#include "base/address/address_range.h"
#include "schema/kj_guard.h"
#include "schema/tape/mark_codec.h"
#include "schema/tape/tape.capnp.h"
#include "schema/tape/tape_format.h"
#include "schema/tape/wire_words.h"

namespace heaptape::schema {
namespace {

// The bytes of a column that must have the one encoding named.
base::Result<ColumnReader> open_column(wire::Column::Reader column, wire::Encoding expected,
                                       const char* name) {
  const capnp::Data::Reader data = column.getData();
  if (data.size() != 0 && column.getEncoding() != expected) {
    return base::Error::damaged(std::string("its ") + name +
                                " column has an encoding unknown to this version");
  }
  return ColumnReader({data.begin(), data.size()});
}

ProcessSample read_sample(wire::ProcessSample::Reader in) {
  ProcessSample sample{in.getEvent(), in.getTimeNs(), in.getResidentBytes(), {}};
  for (const auto region : in.getRegions()) {
    const uint64_t begin = region.getBegin();
    const uint64_t bytes = region.getBytes();
    if (begin >= base::kAddressLimit || bytes > base::kAddressLimit - begin) continue;
    sample.regions.push_back({begin, begin + bytes});
  }
  return sample;
}

}  // namespace

EventDecoder::EventDecoder() = default;
EventDecoder::~EventDecoder() = default;
EventDecoder::EventDecoder(EventDecoder&&) noexcept = default;
EventDecoder& EventDecoder::operator=(EventDecoder&&) noexcept = default;

base::Status EventDecoder::load(std::vector<uint64_t> words) {
  *this = EventDecoder();
  words_ = std::move(words);
  return guard_kj(base::ErrorCode::kDamaged, "its message is not well-formed",
                  [this] { return load_columns(); });
}

base::Status EventDecoder::load_columns() {
  message_ = std::make_unique<WordsReader>(words_);
  const auto chunk = message_->root<wire::EventChunk>();
  first_event_ = chunk.getFirstEvent();
  count_ = chunk.getCount();
  unit_log2_ = chunk.getUnitLog2();
  if (count_ > kMaxEventsPerChunk) return base::Error::damaged("it claims too many events");
  if (unit_log2_ > 12) return base::Error::damaged("its address unit is out of range");
  using wire::Encoding;
  HEAPTAPE_ASSIGN_OR_RETURN(ops_, open_column(chunk.getOps(), Encoding::BYTES, "op"));
  HEAPTAPE_ASSIGN_OR_RETURN(sizes_, open_column(chunk.getSizes(), Encoding::VARINT, "size"));
  HEAPTAPE_ASSIGN_OR_RETURN(
      addresses_, open_column(chunk.getAddresses(), Encoding::ADDRESS_SAME_CLASS, "address"));
  freed_by_use_ = chunk.getFreed().getEncoding() == Encoding::ADDRESS_LAST_USED;
  const auto freed_encoding =
      freed_by_use_ ? Encoding::ADDRESS_LAST_USED : Encoding::ADDRESS_LAST_FREED;
  HEAPTAPE_ASSIGN_OR_RETURN(freed_, open_column(chunk.getFreed(), freed_encoding, "freed-address"));
  HEAPTAPE_ASSIGN_OR_RETURN(alignments_,
                            open_column(chunk.getAlignments(), Encoding::VARINT, "alignment"));
  HEAPTAPE_ASSIGN_OR_RETURN(threads_, open_column(chunk.getThreads(), Encoding::VARINT, "thread"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader times,
                            open_column(chunk.getTimes(), Encoding::VARINT, "time"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader ends,
                            open_column(chunk.getEnds(), Encoding::VARINT, "thread-end"));
  for (const auto sample : chunk.getSamples()) samples_.push_back(read_sample(sample));
  marks_ = read_marks(chunk);
  HEAPTAPE_RETURN_IF_ERROR(load_times(times));
  return load_ends(ends);
}

base::Status EventDecoder::load_times(ColumnReader column) {
  uint64_t event = first_event_;
  uint64_t time_ns = 0;
  while (!column.at_end()) {
    uint64_t events = 0;
    uint64_t nanoseconds = 0;
    if (!column.get(events) || !column.get(nanoseconds))
      return base::Error::damaged("its time column ends inside a pair");
    event += events;
    time_ns += nanoseconds;
    times_.push_back({event, time_ns});
  }
  return {};
}

base::Status EventDecoder::load_ends(ColumnReader column) {
  uint64_t events = 0;  // of the chunk, before the end
  while (!column.at_end()) {
    uint64_t more_events = 0;
    uint64_t thread = 0;
    if (!column.get(more_events) || !column.get(thread) || more_events > count_ - events ||
        thread > UINT32_MAX || ends_.size() == kMaxEventsPerChunk) {
      return base::Error::damaged("its thread-end column is wrong");
    }
    events += more_events;
    ends_.push_back({first_event_ + events, static_cast<uint32_t>(thread)});
  }
  return {};
}

bool EventDecoder::next_thread() {
  uint64_t thread = 0;
  if (!threads_.get(thread) || !threads_.get(run_left_) || run_left_ == 0) return false;
  if (thread > UINT32_MAX) return false;
  thread_ = static_cast<uint32_t>(thread);
  return true;
}

bool EventDecoder::next_freed(Event& event) {
  uint64_t code = 0;
  if (!freed_.get(code)) return false;
  event.freed_address = AddressCode::decode(code, last_freed_.predict(event.thread), unit_log2_);
  if (event.freed_address >= base::kAddressLimit) return false;
  last_freed_.update(event.thread, event.freed_address);
  return true;
}

bool EventDecoder::next_block(Event& event) {
  uint64_t code = 0;
  if (!sizes_.get(event.size) || !addresses_.get(code)) return false;
  const uint64_t predicted = new_address_.predict(event.thread, event.size);
  event.address = AddressCode::decode(code, predicted, unit_log2_);
  if (event.address >= base::kAddressLimit) return false;
  new_address_.update(event.thread, event.size, event.address);
  if (freed_by_use_) last_freed_.update(event.thread, event.address);
  return true;
}

base::Result<size_t> EventDecoder::read(std::span<Event> out) {
  const size_t wanted = std::min<size_t>(out.size(), remaining());
  for (size_t i = 0; i < wanted; ++i) {
    Event event;
    uint8_t op = 0;
    if (!ops_.get_byte(op) || !is_valid_op(op))
      return base::Error::damaged("its op column is wrong");
    event.op = static_cast<Op>(op);
    if (run_left_ == 0 && !next_thread()) return base::Error::damaged("its thread column is wrong");
    --run_left_;
    event.thread = thread_;
    const OpInfo& info = op_info(event.op);
    if (info.kind != OpKind::kAllocate && !next_freed(event)) {
      return base::Error::damaged("its freed-address column is wrong");
    }
    if (info.kind != OpKind::kRelease && !next_block(event)) {
      return base::Error::damaged("its size or address column is wrong");
    }
    if (info.aligned && !alignments_.get(event.alignment)) {
      return base::Error::damaged("its alignment column is wrong");
    }
    out[i] = event;
  }
  position_ += static_cast<uint32_t>(wanted);
  if (remaining() == 0) HEAPTAPE_RETURN_IF_ERROR(finish());
  return wanted;
}

base::Status EventDecoder::finish() const {
  const bool consumed = ops_.at_end() && sizes_.at_end() && addresses_.at_end() &&
                        freed_.at_end() && alignments_.at_end() && threads_.at_end() &&
                        run_left_ == 0;
  return consumed ? base::Status()
                  : base::Status(base::Error::damaged("a column is longer than its events"));
}

}  // namespace heaptape::schema
