#include "schema/tape/event_decoder.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/address/address_range.h"
#include "schema/kj_guard.h"
#include "schema/tape/mapping_codec.h"
#include "schema/tape/mark_codec.h"
#include "schema/tape/op_traits.h"
#include "schema/tape/sample_codec.h"
#include "schema/tape/stack_end.h"
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
  HEAPTAPE_RETURN_IF_ERROR(load_addresses());
  HEAPTAPE_ASSIGN_OR_RETURN(alignments_,
                            open_column(chunk.getAlignments(), Encoding::VARINT, "alignment"));
  HEAPTAPE_ASSIGN_OR_RETURN(threads_, open_column(chunk.getThreads(), Encoding::VARINT, "thread"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader times,
                            open_column(chunk.getTimes(), Encoding::VARINT, "time"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader ends,
                            open_column(chunk.getEnds(), Encoding::VARINT, "thread-end"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader steering,
                            open_column(chunk.getSteering(), Encoding::VARINT, "steering"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader mapped,
                            open_column(chunk.getMapped(), Encoding::VARINT, "mapping-call"));
  HEAPTAPE_ASSIGN_OR_RETURN(stacks_, open_column(chunk.getStacks(), Encoding::VARINT, "stack"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader frames,
                            open_column(chunk.getFrames(), Encoding::VARINT, "frame"));
  HEAPTAPE_ASSIGN_OR_RETURN(ColumnReader births,
                            open_column(chunk.getBirths(), Encoding::VARINT, "birth"));
  live_blocks_ = chunk.getLiveBlocks();
  has_stacks_ = chunk.hasStacks();
  first_frame_ = chunk.getFirstFrame();
  mappings_ = read_mappings(chunk);
  HEAPTAPE_RETURN_IF_ERROR(load_frames(frames));
  HEAPTAPE_RETURN_IF_ERROR(load_births(births));
  for (const auto sample : chunk.getSamples()) samples_.push_back(read_sample(sample));
  marks_ = read_marks(chunk);
  HEAPTAPE_RETURN_IF_ERROR(load_times(times));
  HEAPTAPE_RETURN_IF_ERROR(load_steering(steering));
  HEAPTAPE_RETURN_IF_ERROR(load_mapped(mapped));
  return load_ends(ends);
}

base::Status EventDecoder::load_addresses() {
  using wire::Encoding;
  const auto chunk = message_->root<wire::EventChunk>();
  auto encoding = Encoding::ADDRESS_FREE_LIST;
  auto freed_encoding = Encoding::ADDRESS_LAST_FREED;
  if (chunk.hasAges()) {
    HEAPTAPE_ASSIGN_OR_RETURN(size_classes_, size_classes_of(chunk.getSizeClasses()));
    HEAPTAPE_ASSIGN_OR_RETURN(ages_, open_column(chunk.getAges(), Encoding::BYTES, "age"));
    HEAPTAPE_ASSIGN_OR_RETURN(high_ages_,
                              open_column(chunk.getHighAges(), Encoding::VARINT, "age"));
    const size_t most = std::min<size_t>(count_, chunk.getOps().getData().size());
    blocks_.reserve(most);
    block_classes_.reserve(most);
  } else {
    encoding = Encoding::ADDRESS_SAME_CLASS;
    size_classes_ = SizeClasses::kVersion1;
    layout_ = AddressLayout::kLastFreed;
    if (chunk.getFreed().getEncoding() == Encoding::ADDRESS_LAST_USED) {
      freed_encoding = Encoding::ADDRESS_LAST_USED;
      layout_ = AddressLayout::kLastUsed;
    }
  }
  HEAPTAPE_ASSIGN_OR_RETURN(addresses_, open_column(chunk.getAddresses(), encoding, "address"));
  HEAPTAPE_ASSIGN_OR_RETURN(freed_, open_column(chunk.getFreed(), freed_encoding, "freed-address"));
  return {};
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

// Calls that a later version records are left out.
base::Status EventDecoder::load_steering(ColumnReader column) {
  uint64_t events = 0;  // of the chunk, before the call
  while (!column.at_end()) {
    uint64_t more_events = 0;
    uint64_t thread = 0;
    uint64_t op = 0;
    uint64_t first = 0;
    uint64_t second = 0;
    const bool is_whole = column.get(more_events) && column.get(thread) && column.get(op) &&
                          column.get(first) && column.get(second);
    if (!is_whole || more_events > count_ - events || thread > UINT32_MAX ||
        steering_.size() == kMostSteeringPerChunk) {
      return base::Error::damaged("its steering column is wrong");
    }
    events += more_events;
    if (!is_valid_steering_op(op)) continue;
    steering_.push_back({first_event_ + events, static_cast<uint32_t>(thread),
                         static_cast<SteeringOp>(op), unzigzag(first), unzigzag(second)});
  }
  return {};
}

// Omits ops of later versions, and ranges beyond all addresses.
base::Status EventDecoder::load_mapped(ColumnReader column) {
  uint64_t events = 0;  // of the chunk, before the call
  uint64_t begin = 0;
  size_t count = 0;
  while (!column.at_end()) {
    std::array<uint64_t, 7> values;
    for (uint64_t& value : values) {
      if (!column.get(value)) return base::Error::damaged("its mapping-call column is cut short");
    }
    const auto [more_events, thread, op, distance, bytes, detail, stack] = values;
    if (more_events > count_ - events || thread > UINT32_MAX ||
        stack > first_frame_ + frames_.size() || ++count > kMostMappedPerChunk) {
      return base::Error::damaged("its mapping-call column is wrong");
    }
    events += more_events;
    begin += static_cast<uint64_t>(unzigzag(distance));
    if (op > UINT8_MAX || mapping_op_name(op) == nullptr) continue;
    if (begin >= base::kAddressLimit || bytes > base::kAddressLimit - begin) continue;
    mapped_.push_back({first_event_ + events,
                       static_cast<uint32_t>(thread),
                       static_cast<MappingOp>(op),
                       {begin, begin + bytes},
                       detail,
                       static_cast<FrameNumber>(stack)});
  }
  return {};
}

base::Status EventDecoder::load_frames(ColumnReader column) {
  uint64_t number = first_frame_;
  uint64_t address = 0;
  while (!column.at_end()) {
    uint64_t above = 0;  // the caller's number, by how much this one is
    uint64_t distance = 0;
    if (!column.get(above) || !column.get(distance) || ++number > kMostFrames || above == 0 ||
        above > number) {
      return base::Error::damaged("its frame column is wrong");
    }
    const uint64_t marked = address + static_cast<uint64_t>(unzigzag(distance));
    address = marked & ~kGuessFlag;
    frames_.push_back({static_cast<FrameNumber>(number - above), address, marked != address});
  }
  return {};
}

base::Status EventDecoder::load_births(ColumnReader column) {
  uint64_t birth = 0;
  while (!column.at_end()) {
    uint64_t calls = 0;
    if (!column.get(calls) || calls == 0 || calls > first_event_ - birth ||
        births_.size() == count_) {
      return base::Error::damaged("its birth column is wrong");
    }
    birth += calls;
    births_.push_back(birth);
  }
  return {};
}

base::Status EventDecoder::read_stacks(std::span<const Event> events, std::span<FrameNumber> out) {
  for (size_t i = 0; i < events.size(); ++i) {
    out[i] = 0;
    if (op_info(events[i].op).kind == OpKind::kRelease) continue;
    uint64_t stack = 0;
    if (!stacks_.get(stack) || stack > first_frame_ + frames_.size()) {
      return base::Error::damaged("its stack column is wrong");
    }
    out[i] = static_cast<FrameNumber>(stack);
  }
  if (remaining() == 0 && !stacks_.at_end()) {
    return base::Error::damaged("its stack column is longer than its events");
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

// Where the next event of a block has its values.
struct EventDecoder::BlockPlace {
  const uint8_t* op;
  size_t block = 0;  // in sizes and addresses
  size_t freed = 0;
  size_t alignment = 0;
  size_t age = 0;
  uint64_t all_addresses = 0;  // so far, or-ed; UINT64_MAX for a place that no list has
  uint64_t all_freed = 0;      // UINT64_MAX for the age of no block
};

base::Result<size_t> EventDecoder::read(std::span<Event> out) {
  out = out.first(std::min<size_t>(out.size(), remaining()));
  for (size_t done = 0; done < out.size(); done += kBlockEvents) {
    HEAPTAPE_RETURN_IF_ERROR(
        read_block(out.subspan(done, std::min(kBlockEvents, out.size() - done))));
  }
  position_ += static_cast<uint32_t>(out.size());
  if (remaining() == 0) HEAPTAPE_RETURN_IF_ERROR(finish());
  return out.size();
}

base::Status EventDecoder::read_values(size_t events, BlockValues& values) {
  values.ops = ops_.get_bytes(events);
  if (values.ops == nullptr) return base::Error::damaged("its op column is wrong");
  uint32_t sum = 0;
  uint32_t all = 0;
  for (size_t i = 0; i < events; ++i) {
    const uint32_t traits = kOpTraits[values.ops[i]];
    sum += traits & ~kInvalidOp;
    all |= traits;
  }
  if ((all & kInvalidOp) != 0) return base::Error::damaged("its op column is wrong");
  const auto first = [sum](std::array<uint64_t, kBlockEvents>& column, uint32_t trait) {
    return std::span(column).first(sum / trait % kTraitLimit);
  };
  HEAPTAPE_RETURN_IF_ERROR(read_freed(first(values.freed, kGivesUp), first(values.ages, kGivesUp)));
  if (!sizes_.get_all(first(values.sizes, kHandsOut)) ||
      !addresses_.get_all(first(values.addresses, kHandsOut))) {
    return base::Error::damaged("its size or address column is wrong");
  }
  if (!alignments_.get_all(first(values.alignments, kAligned))) {
    return base::Error::damaged("its alignment column is wrong");
  }
  return {};
}

// Reads what that many calls give up: ages, and a code for each block that its age does not name.
base::Status EventDecoder::read_freed(std::span<uint64_t> freed, std::span<uint64_t> ages) {
  if (layout_ == AddressLayout::kFreeLists) {
    const uint8_t* const low = ages_.get_bytes(ages.size());
    if (low == nullptr || !high_ages_.get_all(ages)) {
      return base::Error::damaged("its age column is wrong");
    }
    size_t elsewhere = 0;
    uint64_t all = 0;
    for (size_t i = 0; i < ages.size(); ++i) {
      all |= ages[i];
      ages[i] = ages[i] << 8 | low[i];
      elsewhere += ages[i] == 1 ? 1 : 0;
    }
    if (all >> 56 != 0) return base::Error::damaged("its age column is wrong");
    freed = freed.first(elsewhere);
  }
  if (freed_.get_all(freed)) return {};
  return base::Error::damaged("its freed-address column is wrong");
}

base::Status EventDecoder::read_block(std::span<Event> out) {
  BlockValues values;
  HEAPTAPE_RETURN_IF_ERROR(read_values(out.size(), values));
  BlockPlace place{values.ops};
  while (!out.empty()) {
    if (run_left_ == 0 && !next_thread()) return base::Error::damaged("its thread column is wrong");
    const auto run = out.first(std::min<uint64_t>(run_left_, out.size()));
    switch (layout_) {
      case AddressLayout::kFreeLists:
        put_together<AddressLayout::kFreeLists>(run, values, place);
        break;
      case AddressLayout::kLastFreed:
        put_together<AddressLayout::kLastFreed>(run, values, place);
        break;
      case AddressLayout::kLastUsed:
        put_together<AddressLayout::kLastUsed>(run, values, place);
        break;
    }
    run_left_ -= run.size();
    out = out.subspan(run.size());
  }
  if (place.all_freed >= base::kAddressLimit) {
    return base::Error::damaged("its freed-address column is wrong");
  }
  if (place.all_addresses >= base::kAddressLimit) {
    return base::Error::damaged("its size or address column is wrong");
  }
  return {};
}

// Puts together the events of a run of one thread.
template <AddressLayout kLayout>
void EventDecoder::put_together(std::span<Event> run, const BlockValues& values,
                                BlockPlace& place) {
  constexpr bool kHasAges = kLayout == AddressLayout::kFreeLists;
  BlockPlace at = place;
  FreeLists::Lists& lists = free_lists_.of(thread_);
  uint64_t& last = last_address_.of(thread_);  // in the freed-address column
  for (Event& event : run) {
    const uint8_t op = *at.op++;
    const uint32_t traits = kOpTraits[op];
    event = {static_cast<Op>(op), thread_};
    if ((traits & kGivesUp) != 0) {
      const uint64_t age = kHasAges ? values.ages[at.age++] : 1;
      if (age == 1) {
        const uint64_t code = values.freed[at.freed++];
        event.freed_address = AddressCode::decode(code, last, unit_log2_);
        if (event.freed_address != 0) {
          last = event.freed_address;
        } else if (kHasAges) {
          at.all_freed = UINT64_MAX;
        }
      } else if (age > blocks_.size() + 1) [[unlikely]] {
        at.all_freed = UINT64_MAX;
      } else if (age != 0) {
        const size_t number = blocks_.size() + 1 - age;
        event.freed_address = blocks_[number];
        lists[block_classes_[number]].freed.push_back(event.freed_address);
      }
      at.all_freed |= event.freed_address;
    }
    if ((traits & kHandsOut) != 0) {
      event.size = values.sizes[at.block];
      uint64_t code = values.addresses[at.block++];
      if (!kHasAges && code != 0) code += FreeLists::kPlaces;  // version 1 has no places
      const uint8_t size_class = schema::size_class(size_classes_, event.size);
      if (!free_lists_.decode(lists[size_class], code, unit_log2_, event.address)) [[unlikely]]
        at.all_addresses = UINT64_MAX;
      at.all_addresses |= event.address;
      if (kHasAges && code != 0) {
        blocks_.push_back(event.address);
        block_classes_.push_back(size_class);
      }
      if (kLayout == AddressLayout::kLastUsed && code != 0) last = event.address;
    }
    if ((traits & kAligned) != 0) [[unlikely]]
      event.alignment = values.alignments[at.alignment++];
  }
  place = at;
}

base::Status EventDecoder::finish() const {
  const bool consumed = ops_.at_end() && sizes_.at_end() && addresses_.at_end() &&
                        freed_.at_end() && ages_.at_end() && high_ages_.at_end() &&
                        alignments_.at_end() && threads_.at_end() && run_left_ == 0;
  return consumed ? base::Status()
                  : base::Status(base::Error::damaged("a column is longer than its events"));
}

}  // namespace heaptape::schema
