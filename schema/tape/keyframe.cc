#include "schema/tape/keyframe.h"

#include <algorithm>
#include <utility>

#include "schema/tape/stack_end.h"
#include "schema/tape/tape_encoder.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::schema {
namespace {

constexpr uint64_t kLeastBytesPerBlock = 2;  // fewer than any takes

// Keeps what it is given.
class KeptChunks : public ChunkSink {
 public:
  EventColumns write(EventColumns chunk) override {
    chunks_.push_back(std::move(chunk));
    return {};
  }
  void save(EventPart) override {}
  std::optional<SizeClasses> size_classes(uint64_t) const override { return SizeClasses::kChunks; }
  std::vector<EventColumns> take() { return std::move(chunks_); }

 private:
  std::vector<EventColumns> chunks_;
};

// Those behind the `known` first ones, as the column of any chunk has them.
void put_frames(const Stacks& frames, FrameNumber known, ColumnWriter& column) {
  uint64_t address = 0;
  for (FrameNumber number = known + 1; number < frames.limit(); ++number) {
    const Frame* const found = frames.find(number);
    const Frame frame = found == nullptr ? Frame() : *found;
    column.put(number - frame.caller);
    const uint64_t marked = frame.return_address | (frame.guesses ? kGuessFlag : 0);
    column.put(zigzag(static_cast<int64_t>(marked - address)));
    address = frame.return_address;
  }
}

}  // namespace

void KeyframeTable::note(const ProcessSample& sample) {
  const auto known = sample_ ? sample_->parts.malloc_bytes : std::nullopt;
  sample_ = sample;
  if (sample_->parts.malloc_bytes || !known) return;
  sample_->resident_bytes = std::max(sample_->resident_bytes, *known);
  sample_->parts.malloc_bytes = known;
}

void KeyframeTable::begin_with(const Keyframe& keyframe) {
  for (size_t i = 0; i < keyframe.blocks.size(); ++i) {
    live_.add(keyframe.blocks[i], keyframe.stacks.empty() ? 0 : keyframe.stacks[i],
              keyframe.births[i]);
  }
  events_ = keyframe.event;
  sample_ = keyframe.sample;
}

Keyframe KeyframeTable::keyframe() const {
  Keyframe keyframe;
  keyframe.event = events_;
  keyframe.sample = sample_;
  for (const LiveBlock& block : live_.list()) {
    keyframe.blocks.push_back(block.birth);
    keyframe.births.push_back(block.number);
    keyframe.stacks.push_back(block.stack);
  }
  return keyframe;
}

void KeyframeWriter::write() {
  next_ = table_.events() + spacing_.calls;
  writer_.flush();
  const uint64_t most_bytes = writer_.bytes() * spacing_.most_percent / 100;
  const uint64_t room = most_bytes - std::min(most_bytes, bytes_);
  if (table_.blocks() == 0 || table_.blocks() * kLeastBytesPerBlock > room) return;
  const uint64_t bytes = writer_.add_keyframe(columns_of(table_.keyframe()), room);
  if (bytes == 0) return;
  bytes_ += bytes;
  known_frames_ = frames_.limit() - 1;
  known_mappings_ = frames_.mappings().size();
}

std::vector<EventColumns> KeyframeWriter::columns_of(const Keyframe& keyframe) const {
  const bool has_stacks = frames_.limit() > 1;
  KeptChunks kept;
  TapeEncoder encoder(kept);
  if (has_stacks) encoder.set_has_stacks();
  for (size_t i = 0; i < keyframe.blocks.size(); ++i) {
    encoder.append(keyframe.blocks[i], has_stacks ? keyframe.stacks[i] : 0);
  }
  encoder.flush();
  std::vector<EventColumns> chunks = kept.take();
  auto birth = keyframe.births.begin();
  for (EventColumns& chunk : chunks) {
    uint64_t before = 0;
    for (uint32_t i = 0; i < chunk.count; ++i) {
      chunk.births.put(*birth - before);
      before = *birth++;
    }
    chunk.first_event = keyframe.event;
    chunk.first_frame = frames_.limit() - 1;
    chunk.live_blocks = keyframe.blocks.size();
  }
  EventColumns& first = chunks.front();
  first.first_frame = known_frames_;
  put_frames(frames_, known_frames_, first.frames);
  const auto& mappings = frames_.mappings();
  first.mappings.assign(mappings.begin() + static_cast<ptrdiff_t>(known_mappings_), mappings.end());
  if (keyframe.sample) {
    first.samples.push_back(*keyframe.sample);
    first.samples.back().event = keyframe.event;
  }
  return chunks;
}

}  // namespace heaptape::schema
