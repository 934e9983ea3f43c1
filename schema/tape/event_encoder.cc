#include "schema/tape/event_encoder.h"

#include <algorithm>
#include <utility>

#include "schema/tape/stack_end.h"

namespace heaptape::schema {

void EventEncoder::start_run(uint32_t thread) {
  end_run();
  run_thread_ = thread;
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

void EventEncoder::add_sample(ProcessSample sample) {
  sample_bytes_ += sizeof sample + sample.regions.size() * sizeof sample.regions[0];
  columns_.samples.push_back(std::move(sample));
}

void EventEncoder::add_mark(Mark mark) {
  sample_bytes_ += sizeof mark + mark.name.size();
  columns_.marks.push_back(std::move(mark));
}

EventColumns EventEncoder::take() {
  end_run();
  EventColumns next;
  next.first_event = columns_.first_event + columns_.count;
  next.number = columns_.number + 1;
  next.unit_log2 = columns_.unit_log2;
  next.first_frame = frames_;
  last_return_ = 0;
  new_address_.reset();
  last_freed_.reset();
  last_used_.reset();
  part_end_ = {};
  sample_bytes_ = 0;
  time_count_ = 0;
  end_count_ = 0;
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
  EventPart part;
  part.events_before = part_end_.count;
  part.open_thread = run_thread_;
  part.open_run = run_length_;
  EventColumns& added = part.columns;
  added.first_event = columns_.first_event + part_end_.count;
  added.count = columns_.count - part_end_.count;
  added.unit_log2 = columns_.unit_log2;
  added.freed_mode = columns_.freed_mode;
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
