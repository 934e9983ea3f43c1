#include "schema/tape/tape_output.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace heaptape::schema {
namespace {

constexpr uint64_t kFooterSlackBytes = 8192;  // summary, trailer, an index of no chunks
constexpr uint64_t kPartAlignment = 4096;
constexpr uint32_t kDescriptorsForOthers = 16;

bool is_full_disk(const base::Status& status) {
  return !status.ok() && status.error().code == base::ErrorCode::kNoSpace;
}

void append_chunk(std::vector<uint8_t>& bytes, ChunkHeader header, std::span<const uint8_t> frame) {
  header.payload_bytes = static_cast<uint32_t>(frame.size());
  header.payload_crc32 = crc32_of(frame);
  const auto packed = pack(header);
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  bytes.insert(bytes.end(), frame.begin(), frame.end());
}

}  // namespace

TapeOutput::TapeOutput(std::string path, TapeHeader header)
    : path_(std::move(path)),
      header_(std::move(header)),
      size_classes_(likely_size_classes(header_.recorded_allocator.family)),
      choice_(size_classes_) {}

// The first bytes of the tape, for now in memory.
base::Status TapeOutput::begin(FrameCompressor& compressor) {
  if (file_ || !image_.empty()) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const auto words, encode(header_));
  const auto preamble = pack_preamble();
  image_.assign(preamble.begin(), preamble.end());
  return put({ChunkKind::kHeader, 0, 0, 0, 0}, compressor.compress(words), 0);
}

base::Status TapeOutput::open(FrameCompressor& compressor, std::unique_ptr<base::OutputFile> made) {
  if (file_) return {};
  HEAPTAPE_RETURN_IF_ERROR(begin(compressor));
  if (made == nullptr) {
    HEAPTAPE_ASSIGN_OR_RETURN(
        base::OutputFile file,
        base::OutputFile::create(path_, base::OutputFile::IfAbandoned::kRemove));
    made = std::make_unique<base::OutputFile>(std::move(file));
  }
  made->remove_if_abandoned();
  HEAPTAPE_RETURN_IF_ERROR(made->reserve(image_.size() + footer_bytes()));
  HEAPTAPE_RETURN_IF_ERROR(made->append(image_));
  file_.emplace(std::move(*made));
  image_ = {};
  return {};
}

void TapeOutput::add_inheritance(const Inheritance& inheritance, FrameCompressor& compressor) {
  if (window_) {
    inheritance_ = inheritance;
    return;
  }
  if (status_.ok()) status_ = begin(compressor);
  const base::Status written =
      status_.ok() ? put_inheritance(inheritance, compressor) : base::Status();
  if (!written.ok() && !is_full_disk(written)) status_ = written;
  rest_if_short();
}

base::Status TapeOutput::put_inheritance(const Inheritance& inheritance,
                                         FrameCompressor& compressor) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto words, encode(inheritance));
  return put({ChunkKind::kInheritance, 0, 0, 0, 0}, compressor.compress(words),
             file_ ? footer_bytes() : 0);
}

void TapeOutput::write(const EventColumns& chunk, FrameCompressor& compressor) {
  events_ += chunk.count;
  if (status_.ok() && !file_ && !window_) status_ = open(compressor);
  const base::Status written = status_.ok() ? write_chunk(chunk, compressor) : status_;
  if (!written.ok()) lose(chunk.count, written.error());
  // The parts of a chunk without events would be taken for the next one's, which begins at the same
  // call.
  if (chunk.count == 0 && parts_end_ != 0 && file_) file_->drop_after_end();
  parts_end_ = 0;
  parts_count_ = 0;
  rest_if_short();
}

// Where descriptors are short, hundreds of tapes may share a few.
void TapeOutput::rest_if_short() {
  if (file_ && file_->is_among_last_descriptors(kDescriptorsForOthers)) file_->rest();
}

base::Status TapeOutput::write_chunk(const EventColumns& chunk, FrameCompressor& compressor) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto words,
                            encode(chunk, choose_size_classes(chunk, compressor)));
  return put_events(chunk, compressor.compress(words));
}

base::Status TapeOutput::put_events(const EventColumns& chunk, std::span<const uint8_t> frame) {
  const ChunkHeader header{ChunkKind::kEvents, 0, chunk.count, chunk.first_event, 0};
  last_chunk_bytes_ = frame.size();
  if (window_) {
    TapeWindow::Chunk kept{
        .header = header, .frame = {frame.begin(), frame.end()}, .end_ns = base::monotonic_ns()};
    kept.counts.add(chunk);
    return window_->add(std::move(kept));
  }
  HEAPTAPE_RETURN_IF_ERROR(put(header, frame, footer_bytes()));
  if (file_) file_->keep_if_abandoned();  // from now on there is something to recover
  written_.add(chunk);
  return {};
}

void TapeOutput::set_window_bytes(uint64_t bytes) {
  if (!window_) return;
  const base::Status dropped = window_->set_bytes(bytes);
  if (status_.ok()) status_ = dropped;
}

base::Status TapeOutput::reserve_for(const TapeWindow& window) {
  return file_ ? file_->reserve(window.bytes() + footer_bytes()) : base::Status();
}

// Leaves out the oldest chunks of what would fill the disk.
base::Status TapeOutput::make_room_for(TapeWindow& window) {
  base::Status full;
  while (window.chunks().size() > 1) {
    const base::Status reserved = reserve_for(window);
    if (!is_full_disk(reserved)) break;
    full = reserved;
    lost_events_ += window.chunks().front().header.event_count;
    HEAPTAPE_RETURN_IF_ERROR(window.drop_oldest());
  }
  return full;
}

namespace {

// Numbers the events of chunks from `first` on, and writes them.
class NumberedChunks : public ChunkSink {
 public:
  using Put = std::function<base::Status(const EventColumns& chunk)>;

  NumberedChunks(uint64_t first, Put put) : first_(first), put_(std::move(put)) {}

  EventColumns write(EventColumns chunk) override {
    chunk.first_event += first_;
    if (status_.ok()) status_ = put_(chunk);
    chunk.clear();
    return chunk;
  }
  void save(EventPart) override {}
  std::optional<SizeClasses> size_classes(uint64_t) const override { return SizeClasses::kChunks; }
  const base::Status& status() const { return status_; }

 private:
  uint64_t first_;
  Put put_;
  base::Status status_;
};

}  // namespace

base::Status TapeOutput::put_beginning(const TapeWindow& window, FrameCompressor& compressor) {
  NumberedChunks chunks(window.dropped() - window.blocks(),
                        [&](const EventColumns& chunk) -> base::Status {
                          HEAPTAPE_ASSIGN_OR_RETURN(const auto words, encode(chunk));
                          return put_events(chunk, compressor.compress(words));
                        });
  window.write_beginning(chunks);
  carried_events_ = written_.events;
  return chunks.status();
}

base::Status TapeOutput::put_window(TapeWindow& window, std::optional<Inheritance> inheritance,
                                    FrameCompressor& compressor) {
  HEAPTAPE_RETURN_IF_ERROR(window.drop_older(base::monotonic_ns()));
  if (window.dropped() != 0) {
    if (!inheritance) inheritance.emplace();
    inheritance->blocks = window.blocks();
    inheritance->dropped = window.dropped();
    inheritance->first_number = window.dropped() - window.blocks();
  }
  base::Status written = inheritance ? put_inheritance(*inheritance, compressor) : base::Status();
  if (written.ok() && window.dropped() != 0) written = put_beginning(window, compressor);
  std::vector<uint8_t> room;
  for (const TapeWindow::Chunk& chunk : window.chunks()) {
    if (written.ok()) {
      const auto frame = chunk.read_frame(room);
      written = frame.ok() ? put(chunk.header, *frame, footer_bytes()) : frame.error();
    }
    if (written.ok()) {
      written_.add(chunk.counts);
    } else {
      lost_events_ += chunk.header.event_count;
    }
  }
  if (file_) file_->keep_if_abandoned();
  return written;
}

base::Result<TapeSummary> TapeOutput::write_copy(const std::string& path,
                                                 const TapeSummary& summary,
                                                 FrameCompressor& compressor) {
  if (!status_.ok()) return status_.error();
  TapeOutput copy(path, header_);
  copy.events_ = events_;
  HEAPTAPE_RETURN_IF_ERROR(copy.open(compressor));
  HEAPTAPE_RETURN_IF_ERROR(copy.reserve_for(*window_));
  const base::Status written = copy.put_window(*window_, inheritance_, compressor);
  auto summed_up =
      written.ok() ? copy.end(summary, compressor) : base::Result<TapeSummary>(written.error());
  if (!summed_up.ok() && copy.file_) copy.file_->remove_if_abandoned();
  return summed_up;
}

uint64_t TapeOutput::add_keyframe(std::span<const EventColumns> keyframe, uint64_t most_bytes,
                                  FrameCompressor& compressor) {
  std::vector<std::vector<uint8_t>> frames;
  uint64_t bytes = 0;
  for (const EventColumns& chunk : keyframe) {
    const auto words = encode(chunk);
    if (!words.ok() || words->size() * sizeof(uint64_t) > kMaxMessageBytes) return 0;
    const auto frame = compressor.compress(*words);
    frames.emplace_back(frame.begin(), frame.end());
    bytes += kChunkHeaderBytes + frame.size();
  }
  if (bytes > most_bytes || !status_.ok() || !reserve(bytes + footer_bytes()).ok()) return 0;
  for (size_t i = 0; i < frames.size() && status_.ok(); ++i) {
    const ChunkHeader header{ChunkKind::kKeyframe, 0, keyframe[i].count, keyframe[i].first_event,
                             0};
    status_ = put(header, frames[i], footer_bytes());
  }
  return bytes;
}

SizeClasses TapeOutput::choose_size_classes(const EventColumns& chunk,
                                            FrameCompressor& compressor) {
  if (!SizeClassChoice::is_trial(chunk.number)) return size_classes_;
  if (!chunk.size_classes) {
    // Those of the chunk before, unless others are better: it may have no blocks.
    size_t least = compressor.measure(chunk.addresses_by(size_classes_));
    for (size_t i = 0; i < kSizeClassKinds; ++i) {
      const size_t bytes = compressor.measure(chunk.addresses[i].bytes());
      if (bytes >= least) continue;
      least = bytes;
      size_classes_ = static_cast<SizeClasses>(i);
    }
  }
  choice_.decide(chunk.number, size_classes_);
  return size_classes_;
}

void TapeOutput::save(const EventPart& part, FrameCompressor& compressor) {
  // A part is useful only after all those before it.
  if (!status_.ok() || part.events_before != parts_count_) return;
  if (save_part(part, compressor).ok()) parts_count_ += part.columns.count;
  rest_if_short();
}

base::Status TapeOutput::save_part(const EventPart& part, FrameCompressor& compressor) {
  HEAPTAPE_RETURN_IF_ERROR(open(compressor));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto words, encode(part));
  std::vector<uint8_t> bytes;
  append_chunk(bytes, {ChunkKind::kPart, 0, part.columns.count, part.columns.first_event, 0},
               compressor.compress(words));
  if (parts_end_ == 0) {
    parts_end_ = (file_->size() + kPartGapBytes) / kPartAlignment * kPartAlignment;
  }
  HEAPTAPE_RETURN_IF_ERROR(file_->write_after_end(parts_end_, bytes));
  parts_end_ += bytes.size();
  file_->keep_if_abandoned();
  return {};
}

// Appends to the file, or to its image if it is not open.
base::Status TapeOutput::append(std::span<const uint8_t> bytes) {
  if (file_) return file_->append(bytes);
  image_.insert(image_.end(), bytes.begin(), bytes.end());
  return {};
}

base::Status TapeOutput::reserve(uint64_t bytes) {
  base::Status reserved = file_->reserve(bytes);
  if (!is_full_disk(reserved) || parts_end_ == 0) return reserved;
  file_->drop_after_end();  // the parts of this very chunk may be what fills the disk
  return file_->reserve(bytes);
}

base::Status TapeOutput::put(ChunkHeader header, std::span<const uint8_t> frame,
                             uint64_t reserve_bytes) {
  const uint64_t offset = file_bytes();
  if (file_) HEAPTAPE_RETURN_IF_ERROR(reserve(kChunkHeaderBytes + frame.size() + reserve_bytes));
  std::vector<uint8_t> packed;
  packed.reserve(kChunkHeaderBytes + frame.size());
  append_chunk(packed, header, frame);
  HEAPTAPE_RETURN_IF_ERROR(append(packed));
  index_.push_back({offset, header.kind, header.event_count, header.first_event});
  return {};
}

void TapeOutput::lose(uint64_t events, const base::Error& error) {
  lost_events_ += events;
  if (status_.ok()) status_ = error;
}

uint64_t TapeOutput::footer_bytes() const {
  return kFooterSlackBytes + (index_.size() + 8) * sizeof(ChunkRef) * 2;
}

void TapeOutput::fill_counts(TapeSummary& summary) const {
  for (int stored = 0; stored < kOpLimit; ++stored) {
    if (!is_valid_op(static_cast<uint8_t>(stored))) continue;
    const OpKind kind = op_info(static_cast<Op>(stored)).kind;
    const uint64_t calls = written_.ops[static_cast<size_t>(stored)];
    if (kind == OpKind::kAllocate) summary.allocations += calls;
    if (kind == OpKind::kRelease) summary.frees += calls;
    if (kind == OpKind::kResize) summary.reallocations += calls;
  }
  summary.failed = written_.failed;
  summary.threads = written_.threads;
  summary.largest_sample = written_.largest_sample;
}

base::Result<TapeSummary> TapeOutput::finish(const EventColumns& last, const TapeSummary& summary,
                                             FrameCompressor& compressor) {
  events_ += last.count;
  if (status_.ok() && !file_) status_ = begin(compressor);
  if (!last.empty()) {
    const base::Status written = status_.ok() ? write_chunk(last, compressor) : status_;
    if (!written.ok()) lose(last.count, written.error());
  }
  if (window_) {
    const auto window = std::move(window_);
    if (status_.ok() && !file_ && window->chunks().size() > 1) status_ = open(compressor);
    if (status_.ok()) {
      const base::Status full = make_room_for(*window);
      status_ = put_window(*window, inheritance_, compressor);
      if (status_.ok()) status_ = full;
    }
  }
  return end(summary, compressor);
}

base::Result<TapeSummary> TapeOutput::end(const TapeSummary& summary, FrameCompressor& compressor) {
  if (!status_.ok() && !is_full_disk(status_)) return status_.error();
  base::Result<TapeSummary> written = put_footer(summary, compressor);
  if (!written.ok()) return written;
  status_ = name_file();
  if (file_ || !is_full_disk(status_)) return status_.ok() ? written : status_.error();
  // Not even one chunk fit. A tape that says so may.
  forget_chunks();
  HEAPTAPE_RETURN_IF_ERROR(begin(compressor));
  written = put_footer(summary, compressor);
  if (!written.ok()) return written;
  HEAPTAPE_RETURN_IF_ERROR(base::write_whole(path_, image_));
  return written;
}

void TapeOutput::forget_chunks() {
  image_.clear();
  index_.clear();
  lost_events_ += written_.events - carried_events_;
  written_ = {};
}

base::Result<TapeSummary> TapeOutput::put_footer(TapeSummary summary, FrameCompressor& compressor) {
  fill_counts(summary);
  summary.events = written_.events;
  summary.losses.lost_events += lost_events_;
  if (is_full_disk(status_)) summary.end_reason = EndReason::kDiskFull;
  // Lists are not worth a tape: on a full disk they are left out.
  const base::Status listed = put_threads(summary, compressor);
  if (!listed.ok() && !is_full_disk(listed)) return listed.error();
  if (!listed.ok()) summary.thread_list.clear();
  base::Status summed_up = put_summary(summary, compressor);
  if (is_full_disk(summed_up) && !summary.inner_allocators.empty()) {
    summary.inner_allocators.clear();
    summed_up = put_summary(summary, compressor);
  }
  if (!summed_up.ok()) return summed_up.error();
  const uint64_t index_offset = file_bytes();
  HEAPTAPE_ASSIGN_OR_RETURN(const auto index_words, encode(index_));
  HEAPTAPE_RETURN_IF_ERROR(
      put({ChunkKind::kIndex, 0, 0, events_, 0}, compressor.compress(index_words), 0));
  HEAPTAPE_RETURN_IF_ERROR(append(pack_trailer(index_offset)));
  return summary;
}

base::Status TapeOutput::put_summary(const TapeSummary& summary, FrameCompressor& compressor) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto words, encode(summary));
  return put({ChunkKind::kSummary, 0, 0, events_, 0}, compressor.compress(words), 0);
}

base::Status TapeOutput::put_threads(const TapeSummary& summary, FrameCompressor& compressor) {
  if (!status_.ok()) return status_;
  if (summary.thread_list.empty()) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const auto words, encode(summary.thread_list));
  return put({ChunkKind::kThreads, 0, 0, events_, 0}, compressor.compress(words), footer_bytes());
}

base::Status TapeOutput::name_file() {
  return file_ ? file_->commit() : base::write_whole(path_, image_);
}

}  // namespace heaptape::schema
