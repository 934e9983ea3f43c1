#include "schema/tape/tape_window.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "schema/tape/info_codec.h"
#include "schema/tape/steering_op.h"
#include "schema/tape/tape_encoder.h"

namespace heaptape::schema {
namespace {

constexpr size_t kBatchEvents = 4096;
// On a tape, compressed: an allocation with its size, address and thread, and its stack.
constexpr uint64_t kBytesPerBlock = 6;
constexpr uint64_t kBytesPerStack = 3;
constexpr uint64_t kBytesPerFrame = 8;
constexpr uint64_t kBytesPerChunk = kChunkHeaderBytes + sizeof(ChunkRef);

// All of them, since later chunks count them.
void add_frames(const Stacks& stacks, TapeEncoder& encoder) {
  auto mapping = stacks.mappings().begin();
  const auto add_mappings_up_to = [&](FrameNumber frames) {
    for (; mapping != stacks.mappings().end() && mapping->frames <= frames; ++mapping) {
      encoder.add_mapping(*mapping);
    }
  };
  for (FrameNumber number = 1; number < stacks.limit(); ++number) {
    add_mappings_up_to(number - 1);
    const Frame* const frame = stacks.find(number);
    encoder.add_frame(frame == nullptr ? Frame() : *frame);
  }
  add_mappings_up_to(kMostFrames);
}

}  // namespace

void ChunkCounts::add(const EventColumns& chunk) {
  for (const uint8_t op : chunk.ops.bytes()) ++ops[op];
  events += chunk.count;
  threads = std::max(threads, uint64_t{chunk.thread_limit});
  failed += chunk.failed;
  for (const ProcessSample& sample : chunk.samples) add(sample);
}

void ChunkCounts::add(const ChunkCounts& other) {
  for (size_t op = 0; op < ops.size(); ++op) ops[op] += other.ops[op];
  events += other.events;
  threads = std::max(threads, other.threads);
  failed += other.failed;
  if (other.largest_sample) add(*other.largest_sample);
}

void ChunkCounts::add(const ProcessSample& sample) {
  const uint64_t peak_bytes =
      std::max(largest_sample ? largest_sample->parts.peak_bytes : 0, sample.parts.peak_bytes);
  // Between equals, the one that knows most of malloc's part: a child's first may know nothing of
  // it.
  const auto size = [](const ProcessSample& one) {
    return std::pair(one.resident_bytes, one.parts.malloc_bytes);
  };
  if (!largest_sample || size(sample) > size(*largest_sample)) {
    largest_sample = sample.without_regions();
  }
  largest_sample->parts.peak_bytes = peak_bytes;
}

base::Result<std::span<const uint8_t>> TapeWindow::Chunk::read_frame(
    std::vector<uint8_t>& room) const {
  if (!filed) return std::span(frame);
  HEAPTAPE_RETURN_IF_ERROR(filed.read(room));
  return std::span<const uint8_t>(room);
}

base::Status TapeWindow::add(Chunk chunk) {
  const uint64_t now_ns = chunk.end_ns;
  chunk.header.payload_bytes = static_cast<uint32_t>(chunk.frame.size());
  chunk_bytes_ += kBytesPerChunk + chunk.header.payload_bytes;
  chunks_.push_back(std::move(chunk));
  while (is_too_large()) HEAPTAPE_RETURN_IF_ERROR(drop_oldest());
  HEAPTAPE_RETURN_IF_ERROR(drop_older(now_ns));
  return file_ ? file_youngest() : base::Status();
}

base::Status TapeWindow::file_youngest() {
  Chunk& youngest = chunks_.back();
  for (;;) {
    auto filed = file_->put(youngest.frame);
    if (filed.ok()) {
      youngest.filed = std::move(*filed);
      youngest.frame = std::vector<uint8_t>();  // {} would keep its memory
      return {};
    }
    if (chunks_.size() == 1) return {};
    HEAPTAPE_RETURN_IF_ERROR(drop_oldest());
  }
}

base::Status TapeWindow::set_bytes(uint64_t bytes) {
  keep_.bytes = bytes;
  while (is_too_large()) HEAPTAPE_RETURN_IF_ERROR(drop_oldest());
  return {};
}

base::Status TapeWindow::drop_older(uint64_t now_ns) {
  while (chunks_.size() > 1 && now_ns - std::min(now_ns, chunks_.front().end_ns) > keep_.time_ns) {
    HEAPTAPE_RETURN_IF_ERROR(drop_oldest());
  }
  return {};
}

uint64_t TapeWindow::beginning_bytes() const {
  const uint64_t per_block = kBytesPerBlock + (has_stacks_ ? kBytesPerStack : 0);
  return live_.count() * per_block + (stacks_.limit() - 1) * kBytesPerFrame + mapping_bytes_;
}

// Each chunk that goes may leave more blocks than it had bytes: not for that reason down to
// nothing.
bool TapeWindow::is_too_large() const {
  const uint64_t others = std::min(beginning_bytes(), keep_.bytes);
  return chunks_.size() > 1 && chunk_bytes_ > std::max(keep_.bytes / 2, keep_.bytes - others);
}

base::Status TapeWindow::drop_oldest() {
  const Chunk chunk = std::move(chunks_.front());
  chunks_.pop_front();
  chunk_bytes_ -= kBytesPerChunk + chunk.header.payload_bytes;
  std::vector<uint8_t> room;
  HEAPTAPE_ASSIGN_OR_RETURN(const auto frame, chunk.read_frame(room));
  HEAPTAPE_ASSIGN_OR_RETURN(auto words, decompress_frame(frame));
  EventDecoder decoder;
  HEAPTAPE_RETURN_IF_ERROR(decoder.load(std::move(words)));
  std::vector<Event> events(kBatchEvents);
  std::vector<FrameNumber> stacks(decoder.has_stacks() ? kBatchEvents : 0);
  for (;;) {
    HEAPTAPE_ASSIGN_OR_RETURN(const size_t count, decoder.read(events));
    if (count == 0) break;
    const auto read = std::span(events).first(count);
    if (decoder.has_stacks()) {
      HEAPTAPE_RETURN_IF_ERROR(decoder.read_stacks(read, std::span(stacks).first(count)));
    }
    for (size_t i = 0; i < count; ++i) {
      live_.add(read[i], stacks.empty() ? 0 : stacks[i], ++dropped_);
    }
  }
  has_stacks_ |= decoder.has_stacks();
  stacks_.add_frames(decoder.first_frame(), decoder.frames());
  for (const CodeMapping& mapping : decoder.mappings()) {
    mapping_bytes_ += mapping.path.size() + mapping.build_id.size() + mapping.function.size();
    stacks_.add_mapping(mapping);
  }
  for (const SteeringCall& call : decoder.steering()) {
    if (steering_info(call.op).effect != SteeringEffect::kLasting) continue;
    std::erase_if(settings_, [&](const SteeringCall& old) { return is_same_setting(old, call); });
    settings_.push_back(call);
  }
  for (const ThreadEnd& end : decoder.ends()) ended_threads_.push_back(end.thread);
  if (ended_threads_.size() > next_forgetting_) forget_threads();
  if (!decoder.times().empty()) time_ns_ = decoder.times().back().time_ns;
  return {};
}

// Those that have ended and have no block left: their number grows for ever.
void TapeWindow::forget_threads() {
  std::unordered_set<uint32_t> threads;
  for (const LiveBlock& block : live_.list()) threads.insert(block.birth.thread);
  const std::unordered_set<uint32_t> ended(ended_threads_.begin(), ended_threads_.end());
  std::erase_if(settings_, [&](const SteeringCall& call) {
    return is_of_a_thread(call.op) && ended.contains(call.thread);
  });
  std::erase_if(ended_threads_, [&](uint32_t thread) { return !threads.contains(thread); });
  next_forgetting_ = 1024 + 2 * ended_threads_.size();
}

void TapeWindow::write_beginning(ChunkSink& sink) const {
  TapeEncoder encoder(sink);
  if (has_stacks_) encoder.set_has_stacks();
  add_frames(stacks_, encoder);
  if (time_ns_) encoder.add_time(*time_ns_);  // of all these blocks
  for (const SteeringCall& call : settings_) encoder.add_steering(call);
  std::unordered_set<uint32_t> threads;
  for (const LiveBlock& block : live_.list()) {
    encoder.append(block.birth, block.stack);
    threads.insert(block.birth.thread);
  }
  if (time_ns_) encoder.add_time(*time_ns_);
  for (const uint32_t thread : ended_threads_) {
    if (threads.contains(thread)) encoder.add_end(thread);
  }
  encoder.flush();
}

}  // namespace heaptape::schema
