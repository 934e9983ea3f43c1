#include "schema/tape/event_columns.h"

#include <algorithm>
#include <iterator>

#include "schema/tape/mapping_codec.h"
#include "schema/tape/mark_codec.h"
#include "schema/tape/sample_codec.h"
#include "schema/tape/tape.capnp.h"
#include "schema/tape/tape_format.h"
#include "schema/tape/wire_words.h"

namespace heaptape::schema {
namespace {

constexpr unsigned kSegmentWords = 1 << 16;
constexpr unsigned kPartSegmentWords = 1 << 10;

void set_column(wire::Column::Builder column, wire::Encoding encoding,
                std::span<const uint8_t> bytes) {
  column.setEncoding(encoding);
  column.setData(capnp::Data::Reader(bytes.data(), bytes.size()));
}

void write_stacks(wire::EventChunk::Builder out, const EventColumns& in) {
  out.setFirstFrame(in.first_frame);
  set_column(out.initStacks(), wire::Encoding::VARINT, in.stacks.bytes());
  set_column(out.initFrames(), wire::Encoding::VARINT, in.frames.bytes());
  write_mappings(out, in.mappings);
}

void set_addresses(wire::EventChunk::Builder out, const EventColumns& in, SizeClasses classes) {
  using wire::Encoding;
  const bool by_used = in.layout == AddressLayout::kLastUsed;
  set_column(out.initFreed(), by_used ? Encoding::ADDRESS_LAST_USED : Encoding::ADDRESS_LAST_FREED,
             in.freed.bytes());
  if (in.layout != AddressLayout::kFreeLists) {
    set_column(out.initAddresses(), Encoding::ADDRESS_SAME_CLASS, in.addresses[0].bytes());
    return;
  }
  out.setSizeClasses(static_cast<uint8_t>(classes));
  set_column(out.initAddresses(), Encoding::ADDRESS_FREE_LIST, in.addresses_by(classes));
  set_column(out.initAges(), Encoding::BYTES, in.ages.bytes());
  set_column(out.initHighAges(), Encoding::VARINT, in.high_ages.bytes());
}

void set_columns(wire::EventChunk::Builder out, const EventColumns& in, SizeClasses classes) {
  out.setFirstEvent(in.first_event);
  out.setCount(in.count);
  out.setUnitLog2(static_cast<uint8_t>(in.unit_log2));
  set_column(out.initOps(), wire::Encoding::BYTES, in.ops.bytes());
  set_column(out.initSizes(), wire::Encoding::VARINT, in.sizes.bytes());
  set_addresses(out, in, in.size_classes.value_or(classes));
  set_column(out.initAlignments(), wire::Encoding::VARINT, in.alignments.bytes());
  set_column(out.initThreads(), wire::Encoding::VARINT, in.threads.bytes());
  set_column(out.initTimes(), wire::Encoding::VARINT, in.times.bytes());
  if (!in.ends.empty()) set_column(out.initEnds(), wire::Encoding::VARINT, in.ends.bytes());
  if (!in.steering.empty())
    set_column(out.initSteering(), wire::Encoding::VARINT, in.steering.bytes());
  if (!in.mapped.empty()) set_column(out.initMapped(), wire::Encoding::VARINT, in.mapped.bytes());
  if (!in.births.empty()) {
    set_column(out.initBirths(), wire::Encoding::VARINT, in.births.bytes());
    out.setLiveBlocks(in.live_blocks);
  }
  auto samples = out.initSamples(static_cast<unsigned>(in.samples.size()));
  for (unsigned i = 0; i < samples.size(); ++i) write_sample(samples[i], in.samples[i]);
  if (!in.marks.empty()) write_marks(out, in.marks);
  if (in.has_stacks()) write_stacks(out, in);
}

base::Status take_column(wire::Column::Reader in, wire::Encoding expected, ColumnWriter& out) {
  const capnp::Data::Reader data = in.getData();
  if (data.size() != 0 && in.getEncoding() != expected) {
    return base::Error::damaged("a column has an encoding unknown to this version");
  }
  out.put_bytes({data.begin(), data.size()});
  return {};
}

base::Status take_addresses(wire::EventChunk::Reader in, EventColumns& out) {
  using wire::Encoding;
  if (!in.hasAges()) {
    const bool by_freed = in.getFreed().getEncoding() == Encoding::ADDRESS_LAST_FREED;
    out.layout = by_freed ? AddressLayout::kLastFreed : AddressLayout::kLastUsed;
    HEAPTAPE_RETURN_IF_ERROR(
        take_column(in.getAddresses(), Encoding::ADDRESS_SAME_CLASS, out.addresses[0]));
    return take_column(in.getFreed(),
                       by_freed ? Encoding::ADDRESS_LAST_FREED : Encoding::ADDRESS_LAST_USED,
                       out.freed);
  }
  HEAPTAPE_ASSIGN_OR_RETURN(out.size_classes, size_classes_of(in.getSizeClasses()));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getAddresses(), Encoding::ADDRESS_FREE_LIST,
                                       out.addresses[in.getSizeClasses()]));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getAges(), Encoding::BYTES, out.ages));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getHighAges(), Encoding::VARINT, out.high_ages));
  return take_column(in.getFreed(), Encoding::ADDRESS_LAST_FREED, out.freed);
}

base::Status take_columns(wire::EventChunk::Reader in, EventColumns& out) {
  using wire::Encoding;
  out.first_event = in.getFirstEvent();
  out.count = in.getCount();
  out.unit_log2 = in.getUnitLog2();
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getOps(), Encoding::BYTES, out.ops));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getSizes(), Encoding::VARINT, out.sizes));
  HEAPTAPE_RETURN_IF_ERROR(take_addresses(in, out));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getAlignments(), Encoding::VARINT, out.alignments));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getThreads(), Encoding::VARINT, out.threads));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getTimes(), Encoding::VARINT, out.times));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getEnds(), Encoding::VARINT, out.ends));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getSteering(), Encoding::VARINT, out.steering));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getMapped(), Encoding::VARINT, out.mapped));
  for (const auto sample : in.getSamples()) out.samples.push_back(read_sample(sample));
  out.marks = read_marks(in);
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getStacks(), Encoding::VARINT, out.stacks));
  HEAPTAPE_RETURN_IF_ERROR(take_column(in.getFrames(), Encoding::VARINT, out.frames));
  out.first_frame = in.getFirstFrame();
  out.mappings = read_mappings(in);
  return {};
}

}  // namespace

size_t EventColumns::bytes() {
  size_t sum = 0;
  for (const ColumnWriter* column : columns()) sum += column->bytes().size();
  return sum;
}

void EventColumns::clear() {
  for (ColumnWriter* column : columns()) column->clear();
  samples.clear();
  marks.clear();
  mappings.clear();
  count = failed = thread_limit = 0;
  live_blocks = 0;
}

base::Result<SizeClasses> size_classes_of(uint8_t stored) {
  if (stored < kSizeClassKinds) return static_cast<SizeClasses>(stored);
  return base::Error::damaged("it has size classes unknown to this version");
}

base::Result<std::vector<uint64_t>> encode(const EventColumns& chunk, SizeClasses classes) {
  const auto fill = [&](capnp::MessageBuilder& message) {
    set_columns(message.initRoot<wire::EventChunk>(), chunk, classes);
  };
  return build_message("a chunk of events", fill, kSegmentWords);
}

base::Result<std::vector<uint64_t>> encode(const EventPart& part) {
  const auto fill = [&](capnp::MessageBuilder& message) {
    auto out = message.initRoot<wire::EventPart>();
    set_columns(out.initEvents(), part.columns, SizeClasses::kChunks);
    out.setEventsBefore(part.events_before);
    out.setOpenThread(part.open_thread);
    out.setOpenRun(part.open_run);
  };
  return build_message("a part of a chunk", fill, kPartSegmentWords);
}

base::Status PartJoiner::load(std::span<const uint64_t> words, EventPart& part) const {
  return guard_kj(base::ErrorCode::kDamaged, "its message is not well-formed",
                  [&]() -> base::Status {
                    WordsReader reader(words);
                    const auto in = reader.root<wire::EventPart>();
                    part.events_before = in.getEventsBefore();
                    part.open_thread = in.getOpenThread();
                    part.open_run = in.getOpenRun();
                    return take_columns(in.getEvents(), part.columns);
                  });
}

base::Status PartJoiner::add(std::span<const uint64_t> words) {
  EventPart part;
  HEAPTAPE_RETURN_IF_ERROR(load(words, part));
  EventColumns& added = part.columns;
  const bool is_first = chunk_.empty();
  const bool fits =
      is_first || (added.unit_log2 == chunk_.unit_log2 && added.layout == chunk_.layout &&
                   added.size_classes == chunk_.size_classes);
  if (!fits || part.events_before != chunk_.count ||
      added.first_event != chunk_.first_event + chunk_.count ||
      added.count > kMaxEventsPerChunk - chunk_.count) {
    return base::Error::damaged("it does not continue the part before it");
  }
  if (chunk_.bytes() + added.bytes() > kMaxMessageBytes / 2) {
    return base::Error::damaged("its chunk is too large");
  }
  chunk_.unit_log2 = added.unit_log2;
  chunk_.layout = added.layout;
  chunk_.size_classes = added.size_classes;
  if (is_first) chunk_.first_frame = added.first_frame;
  chunk_.count += added.count;
  const auto from = added.columns();
  const auto to = chunk_.columns();
  for (size_t i = 0; i < from.size(); ++i) to[i]->put_bytes(from[i]->bytes());
  std::ranges::move(added.samples, std::back_inserter(chunk_.samples));
  std::ranges::move(added.marks, std::back_inserter(chunk_.marks));
  std::ranges::move(added.mappings, std::back_inserter(chunk_.mappings));
  open_thread_ = part.open_thread;
  open_run_ = part.open_run;
  return {};
}

base::Result<std::vector<uint64_t>> PartJoiner::chunk() {
  if (open_run_ != 0) {
    chunk_.threads.put(open_thread_);
    chunk_.threads.put(open_run_);
    open_run_ = 0;
  }
  return encode(chunk_);
}

}  // namespace heaptape::schema
