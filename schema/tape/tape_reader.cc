#include "schema/tape/tape_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace heaptape::schema {
namespace {}  // namespace

// Positioned reads of a regular file; no mapping, so that a file cut short meanwhile is an error
// and not a SIGBUS.
class TapeReader::File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Exactly out.size() bytes from `offset`, or false.
  bool read_at(uint64_t offset, std::span<uint8_t> out) const {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t got =
          pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<size_t>(got);
    }
    return true;
  }

  std::optional<ChunkHeader> chunk_header_at(uint64_t offset) const {
    ChunkHeaderBytes bytes;
    if (!read_at(offset, bytes)) return std::nullopt;
    return unpack_chunk_header(bytes);
  }

  // The first place in [from, end) that holds a valid chunk header; `end` when there is none.
  uint64_t find_chunk(uint64_t from, uint64_t end) const {
    uint8_t marker[4];
    std::memcpy(marker, &kChunkMarker, sizeof marker);
    std::vector<uint8_t> window(1 << 16);
    for (uint64_t at = from; at < end;) {
      const auto size = static_cast<size_t>(std::min<uint64_t>(window.size(), end - at));
      if (!read_at(at, {window.data(), size})) return end;
      for (auto found = window.begin();;) {
        found = std::search(found, window.begin() + static_cast<ptrdiff_t>(size), marker,
                            marker + sizeof marker);
        if (found == window.begin() + static_cast<ptrdiff_t>(size)) break;
        const uint64_t offset = at + static_cast<uint64_t>(found - window.begin());
        if (chunk_header_at(offset)) return offset;
        ++found;
      }
      if (size < window.size()) break;
      at += size - (sizeof marker - 1);  // a marker may lie across two windows
    }
    return end;
  }

 private:
  int fd_;
};

TapeReader::TapeReader(std::string path, std::unique_ptr<File> file, OnDamage on_damage)
    : path_(std::move(path)), file_(std::move(file)), on_damage_(on_damage) {}
TapeReader::TapeReader(TapeReader&&) noexcept = default;
TapeReader& TapeReader::operator=(TapeReader&&) noexcept = default;
TapeReader::~TapeReader() = default;

base::Result<TapeReader> TapeReader::open(const std::string& path, OnDamage on_damage) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    base::Error error = base::os_error("cannot open '" + path + "'", errno);
    if (access((path + ".partial").c_str(), F_OK) == 0) {
      error.message += "; '" + path + ".partial' is a recording that runs or was cut short";
    }
    return error;
  }
  auto file = std::make_unique<File>(fd);
  struct stat info {};
  if (fstat(fd, &info) != 0) return base::os_error("cannot open '" + path + "'", errno);
  if (!S_ISREG(info.st_mode)) {
    return base::Error::foreign("'" + path + "' is not a file: a tape is read from a file");
  }
  TapeReader reader(path, std::move(file), on_damage);
  reader.file_bytes_ = static_cast<uint64_t>(info.st_size);
  HEAPTAPE_RETURN_IF_ERROR(reader.open_contents());
  return reader;
}

base::Error TapeReader::describe_damage(const Damage& damage) const {
  return base::Error::damaged(
             "'" + path_ + "' is damaged at byte " + std::to_string(damage.offset) + ": " +
             damage.reason +
             "; `heaptape verify` lists the damage, `heaptape recover` keeps the rest")
      .at(damage.offset);
}

// Under kStop the damage becomes the caller's error; under kSkip it is listed.
base::Status TapeReader::note_damage(Damage damage) {
  if (on_damage_ == OnDamage::kStop) return describe_damage(damage);
  damages_.push_back(std::move(damage));
  return {};
}

base::Status TapeReader::open_contents() {
  std::vector<uint8_t> preamble(std::min<uint64_t>(kPreambleBytes, file_bytes_));
  if (preamble.empty()) {
    return base::Error::foreign("'" + path_ + "' is empty: it is not a heaptape tape").at(0);
  }
  if (!file_->read_at(0, preamble)) return base::os_error("cannot read '" + path_ + "'", errno);
  if (base::Status status = check_preamble(preamble); !status.ok()) {
    const base::Error& error = status.error();
    if (error.code == base::ErrorCode::kDamaged) {
      if (on_damage_ == OnDamage::kStop || file_bytes_ < kPreambleBytes) {
        return describe_damage({*error.byte_offset, 0, 0, error.message});
      }
      damages_.push_back({0, kPreambleBytes, 0, error.message});
    } else {
      return base::Error{error.code, "cannot read '" + path_ + "': " + error.message,
                         error.byte_offset};
    }
  }
  HEAPTAPE_RETURN_IF_ERROR(load_index());
  HEAPTAPE_RETURN_IF_ERROR(load_header());
  HEAPTAPE_RETURN_IF_ERROR(load_summary());
  return check_sequence();
}

// The events of each chunk follow those of the chunk before. Leaves out chunks that go back.
base::Status TapeReader::check_sequence() {
  std::vector<ChunkRef> in_order;
  uint64_t previous_offset = 0;
  for (const ChunkRef& chunk : chunks_) {
    if (chunk.kind == ChunkKind::kEvents) {
      if (chunk.first_event < event_count_ || chunk.first_event > UINT64_MAX - chunk.event_count) {
        HEAPTAPE_RETURN_IF_ERROR(
            note_damage({chunk.offset, 0, chunk.event_count, "its events are out of order"}));
        continue;
      }
      if (const uint64_t missing = chunk.first_event - event_count_; missing != 0) {
        HEAPTAPE_RETURN_IF_ERROR(note_gap(previous_offset, chunk, missing));
      }
      event_count_ = chunk.first_event + chunk.event_count;
      previous_offset = chunk.offset;
    }
    in_order.push_back(chunk);
  }
  chunks_ = std::move(in_order);
  return {};
}

// The damage between two chunks that were found by walking the file explains what is missing there.
base::Status TapeReader::note_gap(uint64_t previous_offset, const ChunkRef& chunk,
                                  uint64_t events) {
  const auto explains = [&](const Damage& damage) {
    return damage.offset > previous_offset && damage.offset < chunk.offset &&
           damage.lost_events == 0;
  };
  if (const auto damage = std::ranges::find_if(damages_, explains); damage != damages_.end()) {
    damage->lost_events = events;
    return {};
  }
  return note_damage({chunk.offset, 0, events, "the events before this chunk are missing"});
}

// Believes the trailer and the index where both are whole; otherwise walks the chunks.
base::Status TapeReader::load_index() {
  std::array<uint8_t, kTrailerBytes> bytes{};
  std::optional<uint64_t> index_offset;
  if (file_bytes_ >= kPreambleBytes + kTrailerBytes &&
      file_->read_at(file_bytes_ - kTrailerBytes, bytes)) {
    index_offset = unpack_trailer(bytes);
  }
  if (!index_offset) {
    HEAPTAPE_RETURN_IF_ERROR(scan_chunks(file_bytes_));
    const uint64_t end = damages_.empty() ? file_bytes_ : damages_.back().offset;
    return note_damage(
        {std::min(end, file_bytes_), 0, 0, "its end is missing, so the recording was cut short"});
  }
  uint64_t chunk_bytes = 0;
  auto words = load_message({*index_offset, ChunkKind::kIndex, 0, 0}, &chunk_bytes);
  if (words.ok() && *index_offset + chunk_bytes + kTrailerBytes == file_bytes_) {
    auto index = decode_index(*words);
    if (index.ok()) {
      chunks_ = std::move(*index);
      return {};
    }
  }
  HEAPTAPE_RETURN_IF_ERROR(note_damage({*index_offset, 0, 0, "its index does not read"}));
  return scan_chunks(file_bytes_ - kTrailerBytes);
}

// Takes in the chunks up to the byte `end`.
base::Status TapeReader::scan_chunks(uint64_t end) {
  uint64_t at = kPreambleBytes;
  while (at < end) {
    const auto header = file_->chunk_header_at(at);
    if (header && header->payload_bytes <= end - at - kChunkHeaderBytes) {
      chunks_.push_back({at, header->kind, header->event_count, header->first_event});
      at += kChunkHeaderBytes + header->payload_bytes;
      continue;
    }
    const uint64_t next = file_->find_chunk(at + 1, end);
    const bool torn_tail = header.has_value() && next == end;
    HEAPTAPE_RETURN_IF_ERROR(note_damage(
        {at, next - at, torn_tail ? header->event_count : 0,
         torn_tail ? "the file ends inside this chunk" : "these bytes are not a chunk"}));
    at = next;
  }
  return {};
}

base::Status TapeReader::load_header() {
  const auto chunk = std::ranges::find(chunks_, ChunkKind::kHeader, &ChunkRef::kind);
  if (chunk == chunks_.end()) {
    return note_damage({kPreambleBytes, 0, 0, "its header is missing"});
  }
  auto words = load_message(*chunk, nullptr);
  auto header = words.ok() ? decode_header(*words) : base::Result<TapeHeader>(words.error());
  if (!header.ok()) return note_damage({chunk->offset, 0, 0, header.error().message});
  header_ = std::move(*header);
  return {};
}

base::Status TapeReader::load_summary() {
  const auto chunk = std::ranges::find(chunks_, ChunkKind::kSummary, &ChunkRef::kind);
  if (chunk == chunks_.end()) {
    // A missing end was noted by load_index; a finished tape without a summary is not ours.
    if (damages_.empty()) return note_damage({file_bytes_, 0, 0, "its summary is missing"});
    return {};
  }
  auto words = load_message(*chunk, nullptr);
  auto summary = words.ok() ? decode_summary(*words) : base::Result<TapeSummary>(words.error());
  if (!summary.ok()) return note_damage({chunk->offset, 0, 0, summary.error().message});
  summary_ = *summary;
  return {};
}

// `chunk_bytes`, if not null, receives the size of header and payload.
base::Result<std::vector<uint64_t>> TapeReader::load_message(const ChunkRef& chunk,
                                                             uint64_t* chunk_bytes) {
  const auto header = file_->chunk_header_at(chunk.offset);
  if (!header) return base::Error::damaged("these bytes are not a chunk");
  if (header->kind != chunk.kind || header->event_count != chunk.event_count ||
      header->first_event != chunk.first_event) {
    if (chunk.kind != ChunkKind::kIndex || header->kind != chunk.kind) {
      return base::Error::damaged("this chunk is not the one that the index names");
    }
  }
  std::vector<uint8_t> frame(header->payload_bytes);
  if (!file_->read_at(chunk.offset + kChunkHeaderBytes, frame)) {
    return base::Error::damaged("the file ends inside this chunk");
  }
  if (crc32_of(frame) != header->payload_crc32)
    return base::Error::damaged("its checksum does not match");
  if (chunk_bytes != nullptr) *chunk_bytes = kChunkHeaderBytes + frame.size();
  return decompress_frame(frame);
}

base::Status TapeReader::seek(uint64_t event) {
  // The chunk with the event, or the first one behind it.
  const auto reaches = [event](const ChunkRef& chunk) {
    return chunk.kind == ChunkKind::kEvents && event < chunk.first_event + chunk.event_count;
  };
  const auto chunk = std::ranges::find_if(chunks_, reaches);
  next_chunk_ = static_cast<size_t>(chunk - chunks_.begin());
  chunks_end_ = 0;
  decoder_ = EventDecoder();
  if (chunk == chunks_.end()) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const bool loaded, load_next_chunk());
  if (!loaded || decoder_.first_event() > event) return {};
  EventBatch skipped;
  while (decoder_.first_event() + decoder_.count() - decoder_.remaining() < event) {
    const uint64_t position = decoder_.first_event() + decoder_.count() - decoder_.remaining();
    HEAPTAPE_RETURN_IF_ERROR(read(skipped, static_cast<size_t>(event - position)));
    if (skipped.events.empty()) return {};
  }
  return {};
}

// False at the end of the tape.
base::Result<bool> TapeReader::load_next_chunk() {
  while (next_chunk_ < chunks_.size()) {
    const ChunkRef chunk = chunks_[next_chunk_++];
    if (chunk.kind != ChunkKind::kEvents) continue;
    uint64_t chunk_bytes = 0;
    // Invariant: chunks never overlap, so reading a tape costs no more than its size.
    auto words = chunk.offset >= chunks_end_
                     ? load_message(chunk, &chunk_bytes)
                     : base::Error::damaged("it overlaps the chunk before it");
    chunks_end_ = std::max(chunks_end_, chunk.offset + chunk_bytes);
    base::Status loaded =
        words.ok() ? decoder_.load(std::move(*words)) : base::Status(words.error());
    if (loaded.ok() &&
        (decoder_.count() != chunk.event_count || decoder_.first_event() != chunk.first_event)) {
      loaded = base::Error::damaged("its header and its message disagree");
    }
    next_time_ = next_sample_ = 0;
    if (loaded.ok()) return true;
    decoder_ = EventDecoder();
    HEAPTAPE_RETURN_IF_ERROR(
        note_damage({chunk.offset, chunk_bytes, chunk.event_count, loaded.error().message}));
  }
  return false;
}

base::Status TapeReader::read(EventBatch& batch, size_t max_events) {
  batch.events.clear();
  batch.times.clear();
  batch.samples.clear();
  for (;;) {
    while (decoder_.remaining() == 0) {
      // Samples without events (a process that never allocates) still come through.
      HEAPTAPE_ASSIGN_OR_RETURN(const bool loaded, load_next_chunk());
      if (!loaded) return {};
      if (decoder_.count() == 0) {
        std::ranges::copy(decoder_.samples(), std::back_inserter(batch.samples));
      }
    }
    batch.first_event = decoder_.first_event() + decoder_.count() - decoder_.remaining();
    batch.events.resize(std::min<size_t>(max_events, decoder_.remaining()));
    const uint32_t left = decoder_.remaining();
    const auto got = decoder_.read(batch.events);
    if (got.ok()) break;
    batch.events.clear();
    const ChunkRef& chunk = chunks_[next_chunk_ - 1];
    HEAPTAPE_RETURN_IF_ERROR(note_damage({chunk.offset, 0, left, got.error().message}));
    decoder_ = EventDecoder();
  }
  const uint64_t end = batch.first_event + batch.events.size();
  const auto& times = decoder_.times();
  while (next_time_ < times.size() && times[next_time_].event <= end) {
    batch.times.push_back(times[next_time_++]);
  }
  const auto& samples = decoder_.samples();
  while (next_sample_ < samples.size() && samples[next_sample_].event <= end) {
    batch.samples.push_back(samples[next_sample_++]);
  }
  return {};
}

}  // namespace heaptape::schema
