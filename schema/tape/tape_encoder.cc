#include "schema/tape/tape_encoder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heaptape::schema {

void TapeEncoder::append(std::span<const Event> events, const FrameNumber* stacks) {
  while (!events.empty()) {
    const size_t count =
        encoder_.count_accepted(events.first(std::min<size_t>(events.size(), encoder_.room())));
    if (count == 0) {
      make_room(events.front());
      continue;
    }
    encoder_.append(events.first(count), stacks);
    events = events.subspan(count);
    if (stacks != nullptr) stacks += count;
  }
}

void TapeEncoder::add_sample(ProcessSample sample) {
  sample.event = events();
  encoder_.add_sample(std::move(sample));
  if (encoder_.sample_bytes() > kSampleBytesPerChunk) flush();
}

void TapeEncoder::add_steering(const SteeringCall& call) {
  encoder_.add_steering(call);
  if (encoder_.sample_bytes() > kSampleBytesPerChunk) flush();
}

void TapeEncoder::add_mapping_call(const MappingCall& call) {
  encoder_.add_mapping_call(call);
  if (encoder_.sample_bytes() > kSampleBytesPerChunk) flush();
}

void TapeEncoder::add_mark(std::string name, uint64_t time_ns) {
  encoder_.add_mark({events(), time_ns, std::move(name)});
  if (encoder_.sample_bytes() > kSampleBytesPerChunk) flush();
}

FrameNumber TapeEncoder::add_frame(const Frame& frame) {
  const FrameNumber number = encoder_.add_frame(frame);
  if (encoder_.sample_bytes() > kSampleBytesPerChunk) flush();
  return number;
}

void TapeEncoder::add_mapping(CodeMapping mapping) {
  encoder_.add_mapping(std::move(mapping));
  if (encoder_.sample_bytes() > kSampleBytesPerChunk) flush();
}

void TapeEncoder::make_room(const Event& next) {
  const bool fits = encoder_.accepts(next);
  flush();
  if (!fits) encoder_.set_unit_log2(std::countr_zero(next.address | next.freed_address));
}

void TapeEncoder::save() {
  if (!encoder_.empty()) sink_.save(encoder_.take_part());
}

void TapeEncoder::flush() {
  if (encoder_.empty()) return;
  encoder_.recycle(sink_.write(encoder_.take()));
  encoder_.set_size_classes(sink_.size_classes(encoder_.number()));
  // As often as size classes are tried, and in another chunk.
  const bool shows_if_it_pays = encoder_.number() % SizeClassChoice::kChunksPerTrial == 0;
  encoder_.set_effort(shows_if_it_pays || sink_.effort_pays() ? Effort::kFull : effort_);
}

}  // namespace heaptape::schema
