#include "schema/tape/tape_writer.h"

#include <algorithm>
#include <bit>

namespace heaptape::schema {
namespace {

constexpr int kZstdLevel = 1;
constexpr size_t kSliceBytes = 32 << 10;      // about 80 us of compression
constexpr uint32_t kChunksPerTrial = 8;       // how often to try both freed encodings
constexpr uint64_t kFooterSlackBytes = 8192;  // summary, trailer, an index of no chunks

}  // namespace

TapeWriter::TapeWriter(base::OutputFile file) : file_(std::move(file)), compressor_(kZstdLevel) {}

base::Result<std::unique_ptr<TapeWriter>> TapeWriter::create(const std::string& path,
                                                             const TapeHeader& header) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto words, encode(header));
  HEAPTAPE_ASSIGN_OR_RETURN(base::OutputFile file,
                            base::OutputFile::create(path, base::OutputFile::IfAbandoned::kKeep));
  std::unique_ptr<TapeWriter> writer(new TapeWriter(std::move(file)));
  HEAPTAPE_RETURN_IF_ERROR(writer->file_.append(pack_preamble()));
  HEAPTAPE_RETURN_IF_ERROR(
      writer->write_message(ChunkKind::kHeader, std::move(words), writer->footer_bytes()));
  return writer;
}

void TapeWriter::add_sample(ProcessSample sample) {
  sample.event = events();
  encoder_.add_sample(std::move(sample));
}

void TapeWriter::make_room(const Event& next) {
  set_chunk_aside();
  const uint64_t addresses = next.address | next.freed_address;
  if (!encoder_.accepts(next)) {
    unit_log2_ = std::min(unit_log2_, std::countr_zero(addresses));
    encoder_.set_unit_log2(unit_log2_);
  }
}

void TapeWriter::set_chunk_aside() {
  write_pending();
  if (encoder_.empty()) return;
  choose_freed_encoding();
  auto words = encoder_.build(first_event_, freed_encoding_);
  if (words.ok()) {
    pending_ = {ChunkKind::kEvents, 0, encoder_.count(), first_event_, 0};
    pending_counts_ = counts_;
    compressor_.begin(std::move(*words));
  } else {
    lose(encoder_.count(), words.error());
  }
  first_event_ += encoder_.count();
  encoder_.clear();
  encoder_.set_freed_mode(next_freed_mode());
}

// After a trial chunk the better encoding serves the next few, which then cost less to encode.
void TapeWriter::choose_freed_encoding() {
  if (chunks_until_trial_ != 0) {
    --chunks_until_trial_;
  } else {
    chunks_until_trial_ = kChunksPerTrial - 1;
    const size_t by_freed = compressor_.measure(encoder_.freed_column(FreedEncoding::kLastFreed));
    const size_t by_used = compressor_.measure(encoder_.freed_column(FreedEncoding::kLastUsed));
    freed_encoding_ = by_freed <= by_used ? FreedEncoding::kLastFreed : FreedEncoding::kLastUsed;
  }
}

FreedMode TapeWriter::next_freed_mode() const {
  if (chunks_until_trial_ == 0) return FreedMode::kTrial;
  return freed_encoding_ == FreedEncoding::kLastFreed ? FreedMode::kLastFreed
                                                      : FreedMode::kLastUsed;
}

bool TapeWriter::step() {
  if (!compressor_.busy()) return false;
  if (!compressor_.step(kSliceBytes)) return true;
  const base::Status written =
      status_.ok() ? write_chunk(pending_, compressor_.frame(), footer_bytes()) : status_;
  if (written.ok()) {
    written_counts_ = pending_counts_;
  } else {
    lose(pending_.event_count, written.error());
  }
  return false;
}

void TapeWriter::lose(uint32_t events, const base::Error& error) {
  lost_events_ += events;
  if (status_.ok()) status_ = error;
}

void TapeWriter::write_pending() {
  while (step()) {
  }
}

void TapeWriter::flush() {
  set_chunk_aside();
  write_pending();
}

uint64_t TapeWriter::footer_bytes() const {
  return kFooterSlackBytes + (index_.size() + 8) * sizeof(ChunkRef) * 2;
}

base::Status TapeWriter::write_chunk(ChunkHeader header, std::span<const uint8_t> frame,
                                     uint64_t reserve_bytes) {
  header.payload_bytes = static_cast<uint32_t>(frame.size());
  header.payload_crc32 = crc32_of(frame);
  const uint64_t offset = file_.size();
  HEAPTAPE_RETURN_IF_ERROR(file_.reserve(kChunkHeaderBytes + frame.size() + reserve_bytes));
  std::vector<uint8_t> bytes(kChunkHeaderBytes + frame.size());
  std::ranges::copy(pack(header), bytes.begin());
  std::ranges::copy(frame, bytes.begin() + kChunkHeaderBytes);
  HEAPTAPE_RETURN_IF_ERROR(file_.append(bytes));
  index_.push_back({offset, header.kind, header.event_count, header.first_event});
  return {};
}

base::Status TapeWriter::write_message(ChunkKind kind, std::vector<uint64_t> words,
                                       uint64_t reserve_bytes) {
  compressor_.begin(std::move(words));
  while (!compressor_.step(SIZE_MAX / 2)) {
  }
  return write_chunk({kind, 0, 0, first_event_, 0}, compressor_.frame(), reserve_bytes);
}

void TapeWriter::fill_counts(TapeSummary& summary) const {
  for (int stored = 0; stored < kOpLimit; ++stored) {
    if (!is_valid_op(static_cast<uint8_t>(stored))) continue;
    const OpKind kind = op_info(static_cast<Op>(stored)).kind;
    const uint64_t calls = written_counts_.ops[static_cast<size_t>(stored)];
    if (kind == OpKind::kAllocate) summary.allocations += calls;
    if (kind == OpKind::kRelease) summary.frees += calls;
    if (kind == OpKind::kResize) summary.reallocations += calls;
  }
  summary.failed = written_counts_.failed;
  summary.threads = written_counts_.threads;
}

base::Result<TapeSummary> TapeWriter::finish(TapeSummary summary) {
  flush();
  const bool disk_full = !status_.ok() && status_.error().code == base::ErrorCode::kNoSpace;
  if (!status_.ok() && !disk_full) return status_.error();
  fill_counts(summary);
  summary.events = first_event_ - lost_events_;
  summary.losses.lost_events += lost_events_;
  if (disk_full) summary.end_reason = EndReason::kDiskFull;
  HEAPTAPE_ASSIGN_OR_RETURN(auto summary_words, encode(summary));
  HEAPTAPE_RETURN_IF_ERROR(write_message(ChunkKind::kSummary, std::move(summary_words), 0));
  const uint64_t index_offset = file_.size();
  HEAPTAPE_ASSIGN_OR_RETURN(auto index_words, encode(index_));
  HEAPTAPE_RETURN_IF_ERROR(write_message(ChunkKind::kIndex, std::move(index_words), 0));
  HEAPTAPE_RETURN_IF_ERROR(file_.append(pack_trailer(index_offset)));
  HEAPTAPE_RETURN_IF_ERROR(file_.commit());
  return summary;
}

}  // namespace heaptape::schema
