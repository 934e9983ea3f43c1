#include "schema/tape/event_encoder.h"

#include <algorithm>
#include <utility>

#include "schema/tape/op_traits.h"
#include "schema/tape/stack_end.h"

namespace heaptape::schema {

size_t EventEncoder::count_accepted(std::span<const Event> events) const {
  uint64_t bits = 0;
  for (const Event& event : events) bits |= event.address | event.freed_address;
  if ((bits & ((uint64_t{1} << columns_.unit_log2) - 1)) == 0) return events.size();
  const auto refused =
      std::ranges::find_if_not(events, [this](const Event& event) { return accepts(event); });
  return static_cast<size_t>(refused - events.begin());
}

void EventEncoder::append(std::span<const Event> events, const FrameNumber* stacks) {
  if (events.size() < kMostPending) {
    for (size_t i = 0; i < events.size(); ++i) append(events[i], has_stacks_ ? stacks[i] : 0);
    return;
  }
  encode_pending();
  columns_.count += static_cast<uint32_t>(events.size());
  encode(events, stacks);
}

void EventEncoder::encode_pending() {
  if (pending_.empty()) return;
  encode(pending_, pending_stacks_.data());
  pending_.clear();
  pending_stacks_.clear();
}

void EventEncoder::encode(std::span<const Event> events, const FrameNumber* stacks) {
  for (size_t at = 0; at < events.size(); at += kPassEvents) {
    encode_pass(events.subspan(at, std::min(kPassEvents, events.size() - at)),
                has_stacks_ ? stacks + at : nullptr);
  }
}

void EventEncoder::encode_pass(std::span<const Event> events, const FrameNumber* stacks) {
  std::array<uint16_t, kPassEvents> allocating;
  std::array<uint16_t, kPassEvents> freeing;
  size_t blocks = 0;
  size_t frees = 0;
  uint32_t all_traits = 0;
  uint32_t other_threads = 0;
  std::array<uint8_t, kPassEvents> ops;
  for (size_t i = 0; i < events.size(); ++i) {
    const auto op = static_cast<uint8_t>(events[i].op);
    const uint32_t traits = kOpTraits[op];
    ops[i] = op;
    allocating[blocks] = static_cast<uint16_t>(i);
    blocks += traits & kHandsOut;
    freeing[frees] = static_cast<uint16_t>(i);
    frees += traits / kGivesUp & 1;
    all_traits |= traits;
    other_threads |= events[i].thread ^ run_thread_;
  }
  columns_.ops.put_bytes({ops.data(), events.size()});
  if (other_threads == 0) {
    run_length_ += static_cast<uint32_t>(events.size());
  } else {
    encode_threads(events);
  }
  Known known;
  encode_freed(events, {freeing.data(), frees}, known);
  encode_sizes(events, {allocating.data(), blocks});
  for (size_t i = 0; i < kSizeClassKinds; ++i) {
    const auto classes = static_cast<SizeClasses>(i);
    if (columns_.size_classes.value_or(classes) == classes) {
      encode_addresses(events, {allocating.data(), blocks}, known, classes);
    }
  }
  if (has_stacks_) {
    for (size_t i = 0; i < blocks; ++i) columns_.stacks.put(stacks[allocating[i]]);
  }
  if ((all_traits & kAligned) == 0) return;
  for (const Event& event : events) {
    if (op_info(event.op).aligned) columns_.alignments.put(event.alignment);
  }
}

void EventEncoder::encode_threads(std::span<const Event> events) {
  for (const Event& event : events) {
    if (event.thread != run_thread_) [[unlikely]] {
      end_run();
      run_thread_ = event.thread;
    }
    ++run_length_;
  }
}

void EventEncoder::encode_freed(std::span<const Event> events, Indices freeing, Known& known) {
  Ages ages;
  if (columns_.effort == Effort::kFull) {
    find_ages(events, known, ages);
  } else {
    for (size_t i = 0; i < events.size(); ++i) ages[i] = events[i].freed_address != 0 ? 1 : 0;
  }
  std::array<uint8_t, kPassEvents> low;
  PassBytes high;
  PassBytes codes;
  uint8_t* high_out = high.data();
  uint8_t* out = codes.data();
  size_t at = 0;
  for (const uint16_t i : freeing) {
    low[at++] = static_cast<uint8_t>(ages[i]);
    high_out = write_varint(high_out, ages[i] >> 8);
    if (ages[i] != 1) continue;
    uint64_t& last = last_freed_.of(events[i].thread);
    out = write_varint(out, AddressCode::encode(events[i].freed_address, last, columns_.unit_log2));
    last = events[i].freed_address;
  }
  columns_.ages.put_bytes({low.data(), at});
  columns_.high_ages.put_bytes({high.data(), high_out});
  columns_.freed.put_bytes({codes.data(), out});
}

void EventEncoder::find_ages(std::span<const Event> events, Known& known, Ages& ages) {
  blocks_.reserve(kPassEvents);
  for (const Event& event : events) blocks_.prefetch(event.freed_address | event.address);
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    ages[i] = 0;
    if (event.freed_address != 0) {
      const uint32_t number = blocks_.find(event.freed_address);
      const bool is_known = number != BlockTable::kNone;
      ages[i] = is_known ? blocks_.count() - number + 1 : 1;
      known.freeing[known.freed_count] = static_cast<uint16_t>(i);
      known.freed[known.freed_count] = is_known ? blocks_.size_classes_of(number) : 0;
      known.freed_count += is_known ? 1 : 0;
    }
    if (event.address != 0) {
      known.may_be_listed[i] = blocks_.add(event.address, all_size_classes(event.size));
    }
  }
}

void EventEncoder::encode_sizes(std::span<const Event> events, Indices allocating) {
  PassBytes bytes;
  uint8_t* out = bytes.data();
  for (const uint16_t i : allocating) {
    out = write_varint(out, events[i].size);
    if (events[i].address == 0) [[unlikely]]
      columns_.failed += is_failed(events[i]) ? 1 : 0;
  }
  columns_.sizes.put_bytes({bytes.data(), out});
}

void EventEncoder::encode_addresses(std::span<const Event> events, Indices allocating,
                                    const Known& known, SizeClasses classes) {
  FreeLists& free_lists = free_lists_[static_cast<size_t>(classes)];
  const int unit_log2 = columns_.unit_log2;
  PassBytes bytes;
  uint8_t* out = bytes.data();
  size_t listed = 0;
  const auto list_freed = [&](size_t end) {
    for (; listed < known.freed_count && known.freeing[listed] < end; ++listed) {
      const Event& event = events[known.freeing[listed]];
      const uint8_t size_class = one_of(known.freed[listed], classes);
      free_lists.of(event.thread)[size_class].freed.push_back(event.freed_address);
    }
  };
  for (const uint16_t i : allocating) {
    list_freed(size_t{i} + 1);  // a resize gives up before it gets
    const Event& event = events[i];
    FreeLists::List& list = free_lists.of(event.thread)[size_class(classes, event.size)];
    const bool may_be_listed = known.may_be_listed[i];
    out = write_varint(out, free_lists.encode(list, event.address, unit_log2, may_be_listed));
  }
  list_freed(events.size());
  columns_.addresses[static_cast<size_t>(classes)].put_bytes({bytes.data(), out});
}

void EventEncoder::end_run() {
  if (run_length_ == 0) return;
  columns_.threads.put(run_thread_);
  columns_.threads.put(run_length_);
  columns_.thread_limit = std::max(columns_.thread_limit, run_thread_ + 1);
  run_length_ = 0;
}

FrameNumber EventEncoder::add_frame(const Frame& frame) {
  const FrameNumber number = ++frames_;
  const size_t before = columns_.frames.bytes().size();
  columns_.frames.put(number - frame.caller);
  const uint64_t marked = frame.return_address | (frame.guesses ? kGuessFlag : 0);
  columns_.frames.put(zigzag(static_cast<int64_t>(marked - last_return_)));
  sample_bytes_ += columns_.frames.bytes().size() - before;
  last_return_ = frame.return_address;
  return number;
}

void EventEncoder::add_mapping(CodeMapping mapping) {
  mapping.frames = frames_;
  sample_bytes_ +=
      sizeof mapping + mapping.path.size() + mapping.build_id.size() + mapping.function.size();
  columns_.mappings.push_back(std::move(mapping));
}

void EventEncoder::add_time(uint64_t time_ns) {
  const uint64_t event = columns_.first_event + columns_.count;
  const bool is_known = event == last_time_event_ && time_ns == last_time_ns_;
  if (is_known || time_ns < last_time_ns_) return;
  columns_.times.put(columns_.count - time_count_);
  columns_.times.put(time_ns - chunk_time_ns_);
  time_count_ = columns_.count;
  last_time_event_ = event;
  last_time_ns_ = chunk_time_ns_ = time_ns;
}

void EventEncoder::add_end(uint32_t thread) {
  columns_.ends.put(columns_.count - end_count_);
  columns_.ends.put(thread);
  end_count_ = columns_.count;
}

void EventEncoder::add_steering(const SteeringCall& call) {
  const size_t before = columns_.steering.bytes().size();
  columns_.steering.put(columns_.count - steering_count_);
  columns_.steering.put(call.thread);
  columns_.steering.put(static_cast<uint64_t>(call.op));
  columns_.steering.put(zigzag(call.first));
  columns_.steering.put(zigzag(call.second));
  steering_count_ = columns_.count;
  sample_bytes_ += columns_.steering.bytes().size() - before;
}

void EventEncoder::add_mapping_call(const MappingCall& call) {
  const size_t before = columns_.mapped.bytes().size();
  columns_.mapped.put(columns_.count - mapped_count_);
  columns_.mapped.put(call.thread);
  columns_.mapped.put(static_cast<uint64_t>(call.op));
  columns_.mapped.put(zigzag(static_cast<int64_t>(call.range.begin - last_mapped_)));
  columns_.mapped.put(call.range.bytes());
  columns_.mapped.put(call.detail);
  columns_.mapped.put(call.stack);
  mapped_count_ = columns_.count;
  last_mapped_ = call.range.begin;
  sample_bytes_ += columns_.mapped.bytes().size() - before;
}

void EventEncoder::add_sample(ProcessSample sample) {
  sample_bytes_ += sizeof sample + sample.regions.size() * sizeof sample.regions[0];
  columns_.samples.push_back(std::move(sample));
}

void EventEncoder::add_mark(Mark mark) {
  sample_bytes_ += sizeof mark + mark.name.size();
  columns_.marks.push_back(std::move(mark));
}

EventColumns EventEncoder::take() {
  encode_pending();
  end_run();
  EventColumns next;
  next.first_event = columns_.first_event + columns_.count;
  next.number = columns_.number + 1;
  next.unit_log2 = columns_.unit_log2;
  next.first_frame = frames_;
  last_return_ = 0;
  blocks_.clear();
  for (FreeLists& free_lists : free_lists_) free_lists.reset();
  last_freed_.reset();
  part_end_ = {};
  sample_bytes_ = 0;
  time_count_ = 0;
  end_count_ = 0;
  steering_count_ = 0;
  mapped_count_ = 0;
  last_mapped_ = 0;
  chunk_time_ns_ = 0;
  return std::exchange(columns_, std::move(next));
}

void EventEncoder::recycle(EventColumns spare) {
  spare.first_event = columns_.first_event;
  spare.number = columns_.number;
  spare.unit_log2 = columns_.unit_log2;
  spare.first_frame = columns_.first_frame;
  columns_ = std::move(spare);
}

EventPart EventEncoder::take_part() {
  encode_pending();
  EventPart part;
  part.events_before = part_end_.count;
  part.open_thread = run_thread_;
  part.open_run = run_length_;
  EventColumns& added = part.columns;
  added.first_event = columns_.first_event + part_end_.count;
  added.count = columns_.count - part_end_.count;
  added.unit_log2 = columns_.unit_log2;
  added.size_classes = columns_.size_classes;
  const auto from = columns_.columns();
  const auto to = added.columns();
  for (size_t i = 0; i < from.size(); ++i) {
    to[i]->put_bytes(from[i]->bytes().subspan(part_end_.column_bytes[i]));
    part_end_.column_bytes[i] = from[i]->bytes().size();
  }
  const auto first_sample = columns_.samples.begin() + static_cast<ptrdiff_t>(part_end_.samples);
  added.samples.assign(first_sample, columns_.samples.end());
  part_end_.samples = columns_.samples.size();
  const auto first_mark = columns_.marks.begin() + static_cast<ptrdiff_t>(part_end_.marks);
  added.marks.assign(first_mark, columns_.marks.end());
  part_end_.marks = columns_.marks.size();
  const auto first_mapping = columns_.mappings.begin() + static_cast<ptrdiff_t>(part_end_.mappings);
  added.mappings.assign(first_mapping, columns_.mappings.end());
  part_end_.mappings = columns_.mappings.size();
  added.first_frame = columns_.first_frame;
  part_end_.count = columns_.count;
  return part;
}

}  // namespace heaptape::schema
