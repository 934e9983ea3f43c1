#include "recorder/collector/tape_writers.h"

#include <system_error>
#include <utility>

namespace heaptape::recorder {
namespace {

constexpr size_t kThreads = 2;
// Of one tape: some 4 MB of columns, and as long as it takes to write them for a disk to wake up.
constexpr uint32_t kMaxChunksWaiting = 8;
constexpr size_t kMostCopyFailures = 3;
constexpr size_t kMaxSpares = 8;  // about 0.5 MB each

}  // namespace

// One thread does the work of all, if no more can be had.
TapeWriters::TapeWriters() {
  while (threads_.size() < kThreads) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
      return;
    }
  }
}

TapeWriters::~TapeWriters() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<pthread_t> TapeWriters::threads() {
  std::vector<pthread_t> handles;
  for (std::thread& thread : threads_) handles.push_back(thread.native_handle());
  return handles;
}

void TapeWriters::post(const std::shared_ptr<Tape>& tape, Job job) {
  {
    const std::lock_guard lock(mutex_);
    tape->jobs.push_back(std::move(job));
    ++jobs_left_;
    if (tape->is_scheduled) return;
    tape->is_scheduled = true;
    ready_.push_back(tape);
  }
  work_came_.notify_one();
}

std::vector<WrittenTape> TapeWriters::wait() {
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [this] { return jobs_left_ == 0; });
  return std::exchange(written_, {});
}

std::vector<std::string> TapeWriters::take_window_failures() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> failures = std::exchange(copy_failures_, {});
  const base::Status filed = window_file_ ? window_file_->take_failure() : base::Status();
  if (!filed.ok()) {
    failures.push_back(filed.error().message + "; fewer calls were kept than --keep-last allows");
  }
  return failures;
}

void TapeWriters::run() {
  schema::FrameCompressor compressor;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_came_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (ready_.empty()) return;
    std::shared_ptr<Tape> tape = std::move(ready_.front());
    ready_.pop_front();
    Job job = std::move(tape->jobs.front());
    tape->jobs.pop_front();
    lock.unlock();
    work_and_count(*tape, job, compressor);
    lock.lock();
    if (--jobs_left_ == 0) all_done_.notify_all();
    tape->is_scheduled = !tape->jobs.empty();
    if (tape->is_scheduled) ready_.push_back(std::move(tape));  // behind the others
  }
}

void TapeWriters::work_and_count(Tape& tape, Job& job, schema::FrameCompressor& compressor) {
  const uint64_t bytes = tape.output.bytes();
  const uint64_t calls = tape.output.events();
  if (keep_) tape.output.set_window_bytes(window_bytes_.load());
  work(tape, job, compressor);
  if (keep_) tape.kept_bytes = tape.output.bytes();
  written_bytes_ += tape.output.bytes() - bytes;  // may be fewer: then it wraps around
  written_calls_ += tape.output.events() - calls;
}

void TapeWriters::work(Tape& tape, Job& job, schema::FrameCompressor& compressor) {
  if (auto* chunk = std::get_if<schema::EventColumns>(&job)) {
    tape.output.write(*chunk, compressor);
    tape.has_failed = !tape.output.status().ok();
    if (chunk->effort == schema::Effort::kFull) {
      tape.effort_pays = tape.output.last_chunk_bytes() < chunk->count;  // a byte for each call
    }
    --tape.chunks_waiting;
    ++tape.jobs_done;
    keep_spare(std::move(*chunk));
  } else if (const auto* part = std::get_if<schema::EventPart>(&job)) {
    tape.output.save(*part, compressor);
    tape.has_failed = !tape.output.status().ok();
    --tape.parts_waiting;
    ++tape.jobs_done;
  } else if (std::holds_alternative<Trim>(job)) {
    tape.trim_waits = false;
  } else if (const auto* const copy = std::get_if<Copy>(&job)) {
    const auto summary = tape.output.write_copy(copy->path, copy->summary, compressor);
    tape.copy_has_failed = !summary.ok();
    if (!summary.ok()) {
      const std::lock_guard lock(mutex_);
      if (copy_failures_.size() < kMostCopyFailures) {
        copy_failures_.push_back(summary.error().message);
      }
    }
    ++tape.jobs_done;
  } else if (auto* const begin = std::get_if<Open>(&job)) {
    // Whoever writes the first chunk meets the same error, and counts what it costs.
    static_cast<void>(tape.output.open(compressor, std::move(begin->made)));
  } else if (const auto* const inheritance = std::get_if<schema::Inheritance>(&job)) {
    tape.output.add_inheritance(*inheritance, compressor);
  } else if (auto* end = std::get_if<Finish>(&job)) {
    finish(tape, *end, compressor);
  }
}

void TapeWriters::finish(Tape& tape, Finish& end, schema::FrameCompressor& compressor) {
  if (end.names != nullptr) {
    end.names->look();
    for (schema::CodeMapping& name : end.names->take()) {
      name.frames = end.frames;
      end.last.mappings.push_back(std::move(name));
    }
  }
  auto summary = tape.output.finish(end.last, end.summary, compressor);
  --finishes_waiting_;
  const std::lock_guard lock(mutex_);
  written_.push_back(
      {end.id, tape.output.path(), std::move(summary), tape.output.bytes(), tape.output.events()});
}

void TapeWriters::keep_spare(schema::EventColumns columns) {
  columns.clear();
  const std::lock_guard lock(mutex_);
  if (spares_.size() < kMaxSpares) spares_.push_back(std::move(columns));
}

void TapeWriters::drop_spares() {
  const std::lock_guard lock(mutex_);
  spares_.clear();
  spares_.shrink_to_fit();
}

schema::EventColumns TapeWriters::take_spare() {
  const std::lock_guard lock(mutex_);
  if (spares_.empty()) return {};
  schema::EventColumns spare = std::move(spares_.back());
  spares_.pop_back();
  return spare;
}

TapeStream::TapeStream(TapeWriters& writers, std::string path, schema::TapeHeader header)
    : writers_(writers),
      tape_(std::make_shared<TapeWriters::Tape>(std::move(path), std::move(header))),
      keeps_last_(writers.kept().has_value()) {
  if (keeps_last_) tape_->output.keep_last(*writers.kept(), writers.window_file());
}

TapeStream::TapeStream(TapeWriters& writers)
    : writers_(writers),
      tape_(std::make_shared<TapeWriters::Tape>(std::string(), schema::TapeHeader())),
      keeps_last_(false),
      drops_all_(true) {}

void TapeStream::open(std::unique_ptr<base::OutputFile> made) {
  writers_.post(tape_, TapeWriters::Open{std::move(made)});
}

void TapeStream::add_inheritance(schema::Inheritance inheritance) {
  if (drops_all_) return;
  writers_.post(tape_, std::move(inheritance));
}

bool TapeStream::is_behind() const {
  return tape_->chunks_waiting.load(std::memory_order_relaxed) >= kMaxChunksWaiting;
}

void TapeStream::trim() {
  if (!tape_->trim_waits.exchange(true)) writers_.post(tape_, TapeWriters::Trim());
}

void TapeStream::write_copy(std::string path, const schema::TapeSummary& summary) {
  encoder_.flush();
  ++jobs_;
  writers_.post(tape_, TapeWriters::Copy{std::move(path), summary});
}

bool TapeStream::save() {
  if (keeps_last_) {
    encoder_.flush();
    return true;
  }
  if (tape_->parts_waiting.load(std::memory_order_relaxed) != 0) return false;
  encoder_.save();
  return true;
}

void TapeStream::finish(size_t id, const schema::TapeSummary& summary,
                        std::shared_ptr<CodeNames> names) {
  const schema::FrameNumber frames = encoder_.frames();
  ++writers_.finishes_waiting_;
  writers_.post(tape_,
                TapeWriters::Finish{id, encoder_.take_rest(), summary, std::move(names), frames});
}

schema::EventColumns TapeStream::write(schema::EventColumns chunk) {
  if (drops_all_) {
    chunk.clear();
    return chunk;
  }
  const bool is_full = chunk.count == schema::kEventsPerChunk;
  ++jobs_;
  ++tape_->chunks_waiting;
  writers_.post(tape_, std::move(chunk));
  // A tape that filled a chunk is likely to fill another.
  return is_full ? writers_.take_spare() : schema::EventColumns();
}

void TapeStream::save(schema::EventPart part) {
  if (drops_all_) return;
  ++jobs_;
  ++tape_->parts_waiting;
  writers_.post(tape_, std::move(part));
}

std::optional<schema::SizeClasses> TapeStream::size_classes(uint64_t chunk_number) const {
  return tape_->output.size_classes(chunk_number);
}

}  // namespace heaptape::recorder
