// The threads that write the tapes, so that the one that drains the rings never waits for a file.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/result.h"
#include "recorder/collector/code_names.h"
#include "schema/tape/tape_encoder.h"
#include "schema/tape/tape_output.h"

namespace heaptape::recorder {

// What is in the files of all tapes so far.
struct WrittenSoFar {
  uint64_t bytes = 0;
  uint64_t calls = 0;
};

// What became of a finished tape.
struct WrittenTape {
  size_t id;  // as given to TapeStream::finish()
  std::string path;
  base::Result<schema::TapeSummary> summary;  // as written
  uint64_t bytes;                             // of the file
  uint64_t events;                            // handed over, whether they were written or not
};

// Two threads serve all tapes, one chunk at a time and in turn, so that one slow file holds up no
// other tape; two do. docs/decisions/0012-file-threads.md.
//
// The public functions are for one thread, the collector's.
class TapeWriters {
 public:
  TapeWriters();
  // Works off what was handed over.
  ~TapeWriters();
  TapeWriters(const TapeWriters&) = delete;
  TapeWriters& operator=(const TapeWriters&) = delete;

  // Waits until everything is written that was handed over, and returns the tapes finished since
  // the last call, in no order.
  std::vector<WrittenTape> wait();

  // Each tape from now on has the last calls only; in `file`, or in memory if that is null.
  void keep_last(const schema::KeepLast& keep, std::shared_ptr<schema::WindowFile> file) {
    keep_ = keep;
    window_file_ = std::move(file);
    window_bytes_ = keep.bytes;
  }
  const std::optional<schema::KeepLast>& kept() const { return keep_; }
  const std::shared_ptr<schema::WindowFile>& window_file() const { return window_file_; }
  // How much of each tape is kept from its next chunk on.
  void set_window_bytes(uint64_t bytes) { window_bytes_ = bytes; }
  uint64_t window_bytes() const { return window_bytes_.load(); }
  // Why copies failed, or less than KeepLast was kept: one sentence each, the first ones.
  std::vector<std::string> take_window_failures();

  // Gives memory back that is kept for chunks to come.
  void drop_spares();

  // They live as long as this does.
  std::vector<pthread_t> threads();

  // No tape that was finished waits.
  bool all_finished_are_written() const { return finishes_waiting_.load() == 0; }
  // As far as chunks are written; parts do not count.
  WrittenSoFar written() const { return {written_bytes_.load(), written_calls_.load()}; }

 private:
  friend class TapeStream;

  struct Open {
    std::unique_ptr<base::OutputFile> made;
  };
  // Both where only the last calls are kept.
  struct Trim {};
  struct Copy {
    std::string path;
    schema::TapeSummary summary;
  };
  struct Finish {
    size_t id;
    schema::EventColumns last;
    schema::TapeSummary summary;
    std::shared_ptr<CodeNames> names;  // may be null
    schema::FrameNumber frames;        // on the tape
  };
  using Job = std::variant<Open, schema::Inheritance, schema::EventColumns, schema::EventPart, Trim,
                           Copy, Finish>;

  struct Tape {
    Tape(std::string path, schema::TapeHeader header)
        : output(std::move(path), std::move(header)) {}

    schema::TapeOutput output;  // of the thread that works on it, but for size_classes()
    std::list<Job> jobs;
    bool is_scheduled = false;  // in ready_, or a thread works on it
    std::atomic<uint64_t> jobs_done{0};
    std::atomic<bool> has_failed{false};
    std::atomic<bool> copy_has_failed{false};  // the last one
    std::atomic<uint64_t> kept_bytes{0};
    std::atomic<bool> trim_waits{false};
    std::atomic<uint32_t> chunks_waiting{0};
    std::atomic<uint32_t> parts_waiting{0};
    std::atomic<bool> effort_pays{false};
  };

  void post(const std::shared_ptr<Tape>& tape, Job job);
  schema::EventColumns take_spare();
  void run();
  void work_and_count(Tape& tape, Job& job, schema::FrameCompressor& compressor);
  void work(Tape& tape, Job& job, schema::FrameCompressor& compressor);
  void finish(Tape& tape, Finish& end, schema::FrameCompressor& compressor);
  void keep_spare(schema::EventColumns columns);

  std::optional<schema::KeepLast> keep_;  // nothing: whole tapes
  std::shared_ptr<schema::WindowFile> window_file_;
  std::atomic<uint64_t> window_bytes_{UINT64_MAX};
  std::mutex mutex_;  // of everything below and of Tape::jobs, is_scheduled
  std::condition_variable work_came_;
  std::condition_variable all_done_;
  std::list<std::shared_ptr<Tape>> ready_;  // tapes with jobs that no thread works on
  size_t jobs_left_ = 0;
  bool stopping_ = false;
  std::vector<schema::EventColumns> spares_;
  std::vector<WrittenTape> written_;
  std::vector<std::string> copy_failures_;
  std::atomic<uint64_t> written_bytes_{0};
  std::atomic<uint64_t> written_calls_{0};
  std::atomic<uint64_t> finishes_waiting_{0};
  std::vector<std::thread> threads_;
};

// A tape on its way to its file: takes events in the collector's thread and hands chunks to the
// writers. One thread.
class TapeStream : private schema::ChunkSink {
 public:
  // `writers` must outlive it.
  TapeStream(TapeWriters& writers, std::string path, schema::TapeHeader header);
  // Drops all calls. Only encoder(), is_behind() and save() may be used.
  explicit TapeStream(TapeWriters& writers);
  bool drops_all() const { return drops_all_; }

  schema::TapeEncoder& encoder() { return encoder_; }
  const schema::TapeEncoder& encoder() const { return encoder_; }

  // Makes the file now, or takes the one that was made to hold its name: the name is taken from
  // then on.
  void open(std::unique_ptr<base::OutputFile> made);
  // Once.
  void add_inheritance(schema::Inheritance inheritance);
  // As many chunks wait to be written as may: give it no more for now, but what must not be lost.
  bool is_behind() const;
  // Hands over what came since the last chunk or save. False, and nothing done, while the last save
  // still waits: the disk is slow.
  bool save();
  // Whether the tape has the last calls only. Then save() makes a chunk, to be dropped in time.
  bool keeps_last() const { return keeps_last_; }
  uint64_t kept_bytes() const { return tape_->kept_bytes.load(); }
  // To TapeWriters::window_bytes(), soon, though no chunk comes.
  void trim();
  // The tape as it would be if it ended here, to a file of its own.
  void write_copy(std::string path, const schema::TapeSummary& summary);
  // Not all that was handed over could be written, or not the last copy.
  bool has_failed() const { return tape_->has_failed.load() || tape_->copy_has_failed.load(); }
  // How many chunks and saves were handed over, and how many of the first of these were dealt with.
  uint64_t jobs() const { return jobs_; }
  uint64_t jobs_done() const { return tape_->jobs_done.load(); }
  // Ends the tape and returns at once; TapeWriters::wait() tells what came of it. Nothing may
  // follow. `names`, if any, are looked for once more.
  void finish(size_t id, const schema::TapeSummary& summary,
              std::shared_ptr<CodeNames> names = nullptr);

  // Whether a call takes less than a byte in the last chunk that was written with full effort.
  bool effort_pays() const override { return tape_->effort_pays.load(std::memory_order_relaxed); }

 private:
  schema::EventColumns write(schema::EventColumns chunk) override;
  void save(schema::EventPart part) override;
  std::optional<schema::SizeClasses> size_classes(uint64_t chunk_number) const override;

  TapeWriters& writers_;
  std::shared_ptr<TapeWriters::Tape> tape_;
  const bool keeps_last_;
  const bool drops_all_ = false;
  uint64_t jobs_ = 0;
  schema::TapeEncoder encoder_{*this};
};

}  // namespace heaptape::recorder
