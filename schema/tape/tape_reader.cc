#include "schema/tape/tape_reader.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/display_text.h"
#include "schema/tape/chunk_list.h"

namespace heaptape::schema {

namespace {

constexpr char kForkNotKnown[] =
    "the heap that it inherited is not known: the fork is not on its parent's tape";
constexpr char kNotKept[] = "the heap that it inherited is not known: its first calls were dropped";

bool has_events(const ChunkRef& chunk) {
  return chunk.kind == ChunkKind::kEvents || chunk.kind == ChunkKind::kPart;
}

}  // namespace

TapeReader::TapeReader(TapeFile file, OnDamage on_damage)
    : file_(std::move(file)), damage_(file_.path(), on_damage) {}

base::Result<TapeReader> TapeReader::open(const std::string& path, OnDamage on_damage,
                                          Inherited inherited, int generation) {
  HEAPTAPE_ASSIGN_OR_RETURN(TapeFile file, TapeFile::open(path));
  TapeReader reader(std::move(file), on_damage);
  HEAPTAPE_RETURN_IF_ERROR(reader.open_contents());
  if (inherited == Inherited::kJoin) reader.join_inheritance(generation);
  return reader;
}

base::Status TapeReader::open_contents() {
  HEAPTAPE_RETURN_IF_ERROR(check_beginning());
  HEAPTAPE_ASSIGN_OR_RETURN(TapeOutline outline, outline_of(file_, damage_));
  chunks_ = std::move(outline.chunks);
  cut_at_ = outline.cut_at;
  tail_words_ = std::move(outline.tail_words);
  HEAPTAPE_RETURN_IF_ERROR(load_header());
  HEAPTAPE_RETURN_IF_ERROR(load_summary());
  HEAPTAPE_RETURN_IF_ERROR(load_inheritance());
  HEAPTAPE_ASSIGN_OR_RETURN(event_count_, check_sequence(chunks_, first_number_, damage_));
  std::ranges::copy_if(chunks_, std::back_inserter(keyframes_), [this](const ChunkRef& chunk) {
    return chunk.kind == ChunkKind::kKeyframe && chunk.first_event >= first_number_;
  });
  std::ranges::stable_sort(keyframes_, {}, &ChunkRef::first_event);
  return {};
}

base::Status TapeReader::check_beginning() {
  std::vector<uint8_t> preamble(std::min<uint64_t>(kPreambleBytes, file_bytes()));
  if (preamble.empty()) {
    return base::Error::foreign(base::quoted(path()) + " is empty: it is not a heaptape tape")
        .at(0);
  }
  if (!file_.read_at(0, preamble))
    return base::os_error("cannot read " + base::quoted(path()), errno);
  const base::Status status = check_preamble(preamble);
  if (status.ok()) return {};
  const base::Error& error = status.error();
  if (error.code != base::ErrorCode::kDamaged) {
    return base::Error{error.code, "cannot read " + base::quoted(path()) + ": " + error.message,
                       error.byte_offset};
  }
  // Too short to continue, even if the caller skips damage.
  if (file_bytes() < kPreambleBytes) {
    return damage_.describe({*error.byte_offset, 0, 0, error.message});
  }
  return damage_.note({*error.byte_offset, kPreambleBytes, 0, error.message});
}

base::Status TapeReader::load_header() {
  const auto chunk = std::ranges::find(chunks_, ChunkKind::kHeader, &ChunkRef::kind);
  if (chunk == chunks_.end()) {
    return damage_.note({kPreambleBytes, 0, 0, "its header is missing"});
  }
  const auto words = file_.load_message(*chunk);
  auto header = words.ok() ? decode_header(*words) : base::Result<TapeHeader>(words.error());
  if (!header.ok()) return damage_.note({chunk->offset, 0, 0, header.error().message});
  header_ = std::move(*header);
  return {};
}

base::Status TapeReader::load_summary() {
  const auto chunk = std::ranges::find(chunks_, ChunkKind::kSummary, &ChunkRef::kind);
  if (chunk == chunks_.end()) {
    // We always finish a tape with a summary; noted damage may explain its absence.
    if (!finished() || !damages().empty()) return {};
    return damage_.note({file_bytes(), 0, 0, "its summary is missing"});
  }
  const auto words = file_.load_message(*chunk);
  auto summary = words.ok() ? decode_summary(*words) : base::Result<TapeSummary>(words.error());
  if (!summary.ok()) return damage_.note({chunk->offset, 0, 0, summary.error().message});
  summary_ = std::move(*summary);
  return load_threads();
}

base::Status TapeReader::load_threads() {
  const auto chunk = std::ranges::find(chunks_, ChunkKind::kThreads, &ChunkRef::kind);
  if (chunk == chunks_.end()) return {};
  const auto words = file_.load_message(*chunk);
  auto threads = words.ok() ? decode_threads(*words)
                            : base::Result<std::vector<ThreadIdentity>>(words.error());
  if (!threads.ok()) return damage_.note({chunk->offset, 0, 0, threads.error().message});
  summary_->thread_list = std::move(*threads);
  return {};
}

base::Status TapeReader::load_inheritance() {
  const auto chunk = std::ranges::find(chunks_, ChunkKind::kInheritance, &ChunkRef::kind);
  if (chunk == chunks_.end()) return {};
  const auto words = file_.load_message(*chunk);
  auto inheritance =
      words.ok() ? decode_inheritance(*words) : base::Result<Inheritance>(words.error());
  if (!inheritance.ok()) return damage_.note({chunk->offset, 0, 0, inheritance.error().message});
  inheritance_ = std::move(*inheritance);
  first_number_ = inheritance_->first_number;
  return {};
}

void TapeReader::join_inheritance(int generation) {
  if (!inheritance_) return;
  if (inheritance_->dropped != 0) {
    if (!inheritance_->tape.empty()) inherited_problem_ = kNotKept;
    return;
  }
  if (inheritance_->tape.empty()) {
    if (inheritance_->blocks == 0) inherited_problem_ = kForkNotKnown;
    return;
  }
  auto heap = load_inherited_heap(path(), *inheritance_, generation);
  if (heap.ok()) {
    heap_ = std::make_shared<const InheritedHeap>(std::move(*heap));
    inherited_problem_ = heap_->problem;
  } else {
    inherited_problem_ = heap.error().message;
  }
}

std::optional<uint64_t> TapeReader::position_after(uint64_t made) const {
  const uint64_t kept = made - dropped_calls();
  if (made < dropped_calls() || kept > UINT64_MAX - inherited_blocks()) return std::nullopt;
  return inherited_blocks() + kept;
}

uint64_t TapeReader::inherited_blocks() const {
  if (heap_ != nullptr) return heap_->blocks.size();
  return inheritance_ ? std::min(inheritance_->blocks, event_count_) : 0;
}

base::Status TapeReader::seek(uint64_t event) {
  heap_given_ = std::min(event, joined_blocks());
  return seek_own(first_number_ + std::min(event - heap_given_, event_count_));
}

// Makes the next chunk the one with the event, or the first one behind it. `number`: as chunks have
// it.
void TapeReader::stand_before(uint64_t number) {
  const auto reaches = [number](const ChunkRef& chunk) {
    return has_events(chunk) && number < chunk.first_event + chunk.event_count;
  };
  const auto chunk =
      number == first_number_ ? chunks_.begin() : std::ranges::find_if(chunks_, reaches);
  next_chunk_ = static_cast<size_t>(chunk - chunks_.begin());
  chunks_end_ = 0;
  decoder_ = EventDecoder();
}

base::Status TapeReader::seek_own(uint64_t number) {
  stand_before(number);
  if (next_chunk_ == chunks_.size() || number == first_number_) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const bool loaded, load_next_chunk());
  if (!loaded || decoder_.first_event() > number) return {};
  EventBatch skipped;
  while (position() < number) {
    HEAPTAPE_RETURN_IF_ERROR(read_own(skipped, static_cast<size_t>(number - position())));
    if (skipped.events.empty()) return {};
    // The event was lost to damage, and the caller wants these, which come after it.
    if (skipped.first_event >= number) return seek_own(skipped.first_event);
  }
  return {};
}

base::Result<bool> TapeReader::load_next_chunk() {
  while (next_chunk_ < chunks_.size()) {
    const ChunkRef chunk = chunks_[next_chunk_++];
    if (!has_events(chunk)) continue;
    uint64_t chunk_bytes = 0;
    const base::Status loaded = load_chunk(chunk, decoder_, chunks_end_, chunk_bytes);
    next_time_ = next_end_ = next_steering_ = next_mapped_ = next_sample_ = next_mark_ = 0;
    if (loaded.ok()) return true;
    decoder_ = EventDecoder();
    HEAPTAPE_RETURN_IF_ERROR(
        damage_.note({chunk.offset, chunk_bytes, chunk.event_count, loaded.error().message}));
  }
  return false;
}

// Fills the decoder. `chunks_end` is where the chunk before ended, and then where this one does.
// `chunk_bytes` becomes the size of header and payload where both are whole.
base::Status TapeReader::load_chunk(const ChunkRef& chunk, EventDecoder& decoder,
                                    uint64_t& chunks_end, uint64_t& chunk_bytes) const {
  if (chunk.kind == ChunkKind::kPart) return decoder.load(tail_words_);  // was checked by open()
  // Invariant: chunks never overlap, so reading a tape costs no more than its size.
  if (chunk.offset < chunks_end) return base::Error::damaged("it overlaps the chunk before it");
  HEAPTAPE_ASSIGN_OR_RETURN(const auto frame, file_.load_frame(chunk));
  chunk_bytes = kChunkHeaderBytes + frame.size();
  chunks_end = chunk.offset + chunk_bytes;
  HEAPTAPE_ASSIGN_OR_RETURN(auto words, decompress_frame(frame));
  HEAPTAPE_RETURN_IF_ERROR(decoder.load(std::move(words)));
  if (decoder.count() != chunk.event_count || decoder.first_event() != chunk.first_event) {
    return base::Error::damaged("its header and its message disagree");
  }
  return {};
}

base::Status TapeReader::read(EventBatch& batch, size_t max_events) {
  if (heap_ == nullptr && first_number_ == 0) return read_own(batch, max_events);
  if (heap_given_ < joined_blocks()) {
    read_inherited(batch, max_events);
    return {};
  }
  HEAPTAPE_RETURN_IF_ERROR(read_own(batch, max_events));
  shift(batch);
  return {};
}

void TapeReader::read_inherited(EventBatch& batch, size_t max_events) {
  const size_t count =
      static_cast<size_t>(std::min<uint64_t>(max_events, joined_blocks() - heap_given_));
  const auto part_of = [&](const auto& all) {
    const auto first = all.begin() + static_cast<ptrdiff_t>(heap_given_);
    return std::vector(first, first + static_cast<ptrdiff_t>(count));
  };
  batch = {};
  batch.first_event = heap_given_;
  batch.events = part_of(heap_->blocks);
  if (heap_->has_stacks()) batch.stacks = part_of(heap_->stacks);
  if (heap_given_ == 0) batch.steering = heap_->settings;
  heap_given_ += count;
}

// From the numbers of chunks to those behind what was joined, and without what was dropped.
void TapeReader::shift(EventBatch& batch) const {
  const uint64_t events = joined_blocks() - first_number_;
  batch.first_event = batch.events.empty() ? this->events() : batch.first_event + events;
  for (TimeSample& time : batch.times) time.event += events;
  if (batch.next_time) batch.next_time->event += events;
  for (ThreadEnd& end : batch.thread_ends) end.event += events;
  for (SteeringCall& call : batch.steering) call.event += events;
  for (MappingCall& call : batch.mapped) call.event += events;
  for (ProcessSample& sample : batch.samples) sample.event += events;
  for (Mark& mark : batch.marks) mark.event += events;
  const FrameNumber frames = joined_frames();
  if (frames == 0) return;
  for (FrameNumber& stack : batch.stacks) stack += stack == 0 ? 0 : frames;
  for (MappingCall& call : batch.mapped) call.stack += call.stack == 0 ? 0 : frames;
}

base::Status TapeReader::read_own(EventBatch& batch, size_t max_events) {
  batch.times.clear();
  batch.thread_ends.clear();
  batch.steering.clear();
  batch.mapped.clear();
  batch.next_time.reset();
  batch.samples.clear();
  batch.marks.clear();
  for (;;) {
    while (decoder_.remaining() == 0) {
      HEAPTAPE_ASSIGN_OR_RETURN(const bool loaded, load_next_chunk());
      if (!loaded) {
        batch.events.clear();
        batch.stacks.clear();
        return {};
      }
      // Samples without events (a process that never allocates) still come through.
      if (decoder_.count() == 0) take_all_samples(batch);
    }
    batch.first_event = position();
    const uint32_t left = decoder_.remaining();
    batch.events.resize(std::min<size_t>(max_events, left));
    const base::Status got = read_events(batch);
    if (got.ok()) break;
    batch.events.clear();
    batch.stacks.clear();
    HEAPTAPE_RETURN_IF_ERROR(
        damage_.note({chunks_[next_chunk_ - 1].offset, 0, left, got.error().message}));
    decoder_ = EventDecoder();
  }
  take_samples(batch);
  return {};
}

// As many as `batch` has room for.
base::Status TapeReader::read_events(EventBatch& batch) {
  batch.stacks.clear();
  const auto got = decoder_.read(batch.events);
  if (!got.ok()) return got.error();
  if (!decoder_.has_stacks()) return {};
  batch.stacks.resize(batch.events.size());
  return decoder_.read_stacks(batch.events, batch.stacks);
}

base::Result<Stacks> TapeReader::read_stacks() {
  Stacks stacks = heap_ == nullptr ? Stacks() : heap_->frames;
  HEAPTAPE_RETURN_IF_ERROR(seek(0));
  HEAPTAPE_RETURN_IF_ERROR(take_stacks(UINT64_MAX, stacks));
  HEAPTAPE_RETURN_IF_ERROR(seek(0));
  return stacks;
}

base::Result<Stacks> TapeReader::read_stacks(const Keyframe& from, uint64_t until) {
  auto stacks = keyframe_stacks(first_number_ + from.event);
  if (!stacks) return read_stacks();
  stand_before(first_number_ + from.event);
  HEAPTAPE_RETURN_IF_ERROR(take_stacks(first_number_ + until, *stacks));
  HEAPTAPE_RETURN_IF_ERROR(seek(0));
  return std::move(*stacks);
}

// Those up to the keyframe at that call, as chunks number it; nothing if some are missing.
std::optional<Stacks> TapeReader::keyframe_stacks(uint64_t until) const {
  Stacks stacks;
  uint64_t chunks_end = 0;
  uint64_t event = 0;  // of the keyframe before
  for (const ChunkRef& chunk : keyframes_) {
    if (chunk.first_event > until) break;
    if (chunk.first_event == event) continue;  // only the first chunk of each has some
    event = chunk.first_event;
    EventDecoder decoder;
    uint64_t chunk_bytes = 0;
    if (!load_chunk(chunk, decoder, chunks_end, chunk_bytes).ok()) return std::nullopt;
    if (decoder.first_frame() + 1 != stacks.limit()) return std::nullopt;
    stacks.add_frames(decoder.first_frame(), decoder.frames());
    for (const CodeMapping& mapping : decoder.mappings()) stacks.add_mapping(mapping);
  }
  return event == until ? std::optional(std::move(stacks)) : std::nullopt;
}

// Those of the chunks from the next one on that begin before that call, as chunks number it.
base::Status TapeReader::take_stacks(uint64_t until, Stacks& stacks) {
  const FrameNumber joined = joined_frames();
  for (;;) {
    HEAPTAPE_ASSIGN_OR_RETURN(const bool loaded, load_next_chunk());
    if (!loaded || decoder_.first_event() > until) return {};
    if (joined + decoder_.first_frame() + 1 < stacks.limit()) {
      HEAPTAPE_RETURN_IF_ERROR(damage_.note({chunks_[next_chunk_ - 1].offset, 0, 0,
                                             "its frames are numbered like those before them"}));
      continue;
    }
    std::vector<Frame> frames(decoder_.frames().begin(), decoder_.frames().end());
    for (Frame& frame : frames) frame.caller += frame.caller == 0 ? 0 : joined;
    stacks.add_frames(joined + decoder_.first_frame(), frames);
    for (CodeMapping mapping : decoder_.mappings()) {
      mapping.frames += joined;
      stacks.add_mapping(std::move(mapping));
    }
  }
}

base::Result<std::vector<ProcessSample>> TapeReader::read_samples(uint64_t from, uint64_t to) {
  const auto number_of = [this](uint64_t event) {
    return first_number_ + std::min(event - std::min(event, joined_blocks()), event_count_);
  };
  const uint64_t first = number_of(from);
  const uint64_t last = number_of(to);
  std::vector<ProcessSample> samples;
  uint64_t chunks_end = 0;
  for (const ChunkRef& chunk : chunks_) {
    const bool is_near =
        chunk.first_event <= last && chunk.first_event + chunk.event_count >= first;
    if (!has_events(chunk) || !is_near) continue;
    EventDecoder decoder;
    uint64_t chunk_bytes = 0;
    const base::Status loaded = load_chunk(chunk, decoder, chunks_end, chunk_bytes);
    if (!loaded.ok()) {
      HEAPTAPE_RETURN_IF_ERROR(
          damage_.note({chunk.offset, chunk_bytes, chunk.event_count, loaded.error().message}));
      continue;
    }
    for (const ProcessSample& sample : decoder.samples()) {
      samples.push_back(sample);
      samples.back().event += joined_blocks() - first_number_;
    }
  }
  return samples;
}

std::vector<uint64_t> TapeReader::chunk_beginnings() const {
  std::vector<uint64_t> calls;
  // seek() passes over a chunk without events, and so does a reader that stops there.
  bool has_events_before = false;
  for (const ChunkRef& chunk : chunks_) {
    if (!has_events(chunk)) continue;
    if (has_events_before && chunk.event_count != 0) {
      calls.push_back(joined_blocks() + chunk.first_event - first_number_);
    }
    has_events_before = chunk.event_count != 0;
  }
  return calls;
}

std::vector<uint64_t> TapeReader::keyframes() const {
  std::vector<uint64_t> calls;
  if (joined_blocks() != 0) return calls;
  for (const ChunkRef& chunk : keyframes_) calls.push_back(chunk.first_event - first_number_);
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  return calls;
}

base::Result<std::optional<Keyframe>> TapeReader::read_keyframe(uint64_t event) {
  if (joined_blocks() != 0 || event > events()) return std::optional<Keyframe>();
  const auto behind =
      std::ranges::upper_bound(keyframes_, first_number_ + event, {}, &ChunkRef::first_event);
  if (behind == keyframes_.begin()) return std::optional<Keyframe>();
  const uint64_t number = std::prev(behind)->first_event;
  Keyframe keyframe;
  keyframe.event = number - first_number_;
  uint64_t live_blocks = 0;
  uint64_t chunks_end = 0;
  for (auto chunk = std::ranges::lower_bound(keyframes_, number, {}, &ChunkRef::first_event);
       chunk != behind; ++chunk) {
    EventDecoder decoder;
    uint64_t chunk_bytes = 0;
    base::Status added = load_chunk(*chunk, decoder, chunks_end, chunk_bytes);
    live_blocks = decoder.live_blocks();
    if (added.ok()) added = add_part(decoder, keyframe);
    if (added.ok()) continue;
    HEAPTAPE_RETURN_IF_ERROR(damage_.note({chunk->offset, 0, 0, added.error().message}));
    return std::optional<Keyframe>();
  }
  // Its writer may have been killed in between.
  if (keyframe.blocks.size() != live_blocks) return std::optional<Keyframe>();
  return std::optional(std::move(keyframe));
}

base::Status TapeReader::add_part(EventDecoder& part, Keyframe& keyframe) const {
  const size_t before = keyframe.blocks.size();
  if (part.count() > part.live_blocks() - std::min<uint64_t>(before, part.live_blocks())) {
    return base::Error::damaged("it has more blocks than its keyframe");
  }
  keyframe.blocks.resize(before + part.count());
  const auto blocks = std::span(keyframe.blocks).subspan(before);
  HEAPTAPE_ASSIGN_OR_RETURN(const size_t count, part.read(blocks));
  const auto hands_out = [](const Event& block) {
    return op_info(block.op).kind == OpKind::kAllocate && block.address != 0;
  };
  if (count != blocks.size() || part.births().size() != count ||
      !std::ranges::all_of(blocks, hands_out)) {
    return base::Error::damaged("its blocks are not those of a keyframe");
  }
  for (const uint64_t number : part.births()) {
    const uint64_t last = keyframe.births.empty() ? 0 : keyframe.births.back();
    if (number <= first_number_ || number - first_number_ <= last) {
      return base::Error::damaged("its births are out of order");
    }
    keyframe.births.push_back(number - first_number_);
  }
  if (part.has_stacks()) {
    keyframe.stacks.resize(before + count);
    HEAPTAPE_RETURN_IF_ERROR(part.read_stacks(blocks, std::span(keyframe.stacks).subspan(before)));
  }
  if (!part.samples().empty()) {
    keyframe.sample = part.samples().back();
    keyframe.sample->event = keyframe.event;
  }
  return {};
}

// The number of the event that the decoder gives next.
uint64_t TapeReader::position() const {
  return decoder_.first_event() + decoder_.count() - decoder_.remaining();
}

// What was seen of the process up to the end of the events in `batch`.
void TapeReader::take_samples(EventBatch& batch) {
  const uint64_t end = batch.first_event + batch.events.size();
  const auto& times = decoder_.times();
  while (next_time_ < times.size() && times[next_time_].event <= end) {
    batch.times.push_back(times[next_time_++]);
  }
  const auto& ends = decoder_.ends();
  while (next_end_ < ends.size() && ends[next_end_].event <= end) {
    batch.thread_ends.push_back(ends[next_end_++]);
  }
  const auto& steering = decoder_.steering();
  while (next_steering_ < steering.size() && steering[next_steering_].event <= end) {
    batch.steering.push_back(steering[next_steering_++]);
  }
  const auto& mapped = decoder_.mapped();
  while (next_mapped_ < mapped.size() && mapped[next_mapped_].event <= end) {
    batch.mapped.push_back(mapped[next_mapped_++]);
  }
  if (next_time_ < times.size()) batch.next_time = times[next_time_];
  const auto& samples = decoder_.samples();
  while (next_sample_ < samples.size() && samples[next_sample_].event <= end) {
    batch.samples.push_back(samples[next_sample_++]);
  }
  const auto& marks = decoder_.marks();
  while (next_mark_ < marks.size() && marks[next_mark_].event <= end) {
    batch.marks.push_back(marks[next_mark_++]);
  }
}

void TapeReader::take_all_samples(EventBatch& batch) {
  std::ranges::copy(decoder_.times(), std::back_inserter(batch.times));
  std::ranges::copy(decoder_.ends(), std::back_inserter(batch.thread_ends));
  std::ranges::copy(decoder_.steering(), std::back_inserter(batch.steering));
  std::ranges::copy(decoder_.mapped(), std::back_inserter(batch.mapped));
  std::ranges::copy(decoder_.samples(), std::back_inserter(batch.samples));
  std::ranges::copy(decoder_.marks(), std::back_inserter(batch.marks));
}

}  // namespace heaptape::schema
