// Reads a tape from front to back, from any event on. docs/tape-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/tape/damage.h"
#include "schema/tape/event_decoder.h"
#include "schema/tape/info_codec.h"
#include "schema/tape/inherited_heap.h"
#include "schema/tape/keyframe.h"
#include "schema/tape/tape_file.h"
#include "schema/tape/tape_info.h"

namespace heaptape::schema {

// Some consecutive events and what was seen of the process while they happened.
struct EventBatch {
  uint64_t first_event = 0;  // calls before events[0]
  std::vector<Event> events;
  std::vector<FrameNumber> stacks;  // of each event, 0: none; empty: none of these has one
  std::vector<TimeSample> times;
  std::optional<TimeSample> next_time;  // the sample behind these, if their chunk has one
  std::vector<ThreadEnd> thread_ends;
  std::vector<SteeringCall> steering;
  std::vector<MappingCall> mapped;
  std::vector<ProcessSample> samples;
  std::vector<Mark> marks;

  bool empty() const {
    return events.empty() && times.empty() && thread_ends.empty() && samples.empty() &&
           marks.empty() && steering.empty() && mapped.empty();
  }
};

// Whether a tape that refers to its parent's for the heap it inherited begins with that heap.
enum class Inherited : bool { kLeaveOut, kJoin };

// Reads the events of a tape in order. With kJoin, that of a forked process begins with a call for
// each block that it inherited, as if they were on the tape: all numbers of calls and frames count
// them. Treats the file as hostile, and guarantees:
// - Events come in the order of the tape, each once, from chunks whose checksums match.
// - Missing data is reported: under kStop by an error that names the byte, under kSkip in
//   damages().
// - Damage costs the events of the chunks it touches and no others.
// - A pass over the tape reads each byte a bounded number of times: chunks do not overlap.
// - Memory is bounded by two chunks and the list of chunks, whatever the length of the tape; with
//   what was joined, by these, the blocks that are live at once on that tape, and its frames.
// Move-only; one thread.
class TapeReader {
 public:
  using OnDamage = schema::OnDamage;

  // `generation`: for load_inherited_heap().
  static base::Result<TapeReader> open(const std::string& path,
                                       OnDamage on_damage = OnDamage::kStop,
                                       Inherited inherited = Inherited::kJoin, int generation = 0);

  const std::string& path() const { return file_.path(); }
  uint64_t file_bytes() const { return file_.bytes(); }
  const TapeHeader& header() const { return header_; }
  // False if the writer did not finish, or is still writing: then the tape holds what it had saved
  // when the tape was opened. That alone is no damage.
  bool finished() const { return !cut_at_; }
  // Where an unfinished tape breaks off; nothing for a finished one.
  const std::optional<uint64_t>& cut_at() const { return cut_at_; }
  // Nothing for a tape that is not finished.
  const std::optional<TapeSummary>& summary() const { return summary_; }
  // TapeSummary::late_ns; 0 for a tape that is not finished.
  uint64_t late_ns() const { return summary_ ? summary_->late_ns : 0; }
  // In an unfinished tape, the parts of the last chunk count as one.
  const std::vector<ChunkRef>& chunks() const { return chunks_; }
  // Calls on the tape as its chunks number them: those lost in between count.
  uint64_t events() const { return event_count_ + joined_blocks(); }
  uint64_t own_events() const { return event_count_; }  // without what was joined
  // The heap with which the process began, as the tape says; nothing: it was empty.
  const std::optional<Inheritance>& inheritance() const { return inheritance_; }
  // Calls before those of the tape, which has the last ones only.
  uint64_t dropped_calls() const { return inheritance_ ? inheritance_->dropped : 0; }
  // Where on this tape, as seek() counts, the process had made `made` calls; nothing if that is
  // among the dropped ones.
  std::optional<uint64_t> position_after(uint64_t made) const;
  // So many of the first calls hand out blocks that it inherited, or that are of dropped calls;
  // joined_blocks() of these are of another tape.
  uint64_t inherited_blocks() const;
  uint64_t joined_blocks() const { return heap_ == nullptr ? 0 : heap_->blocks.size(); }
  // One sentence on why the heap that it inherited is not known, or not in full; empty: it is, or
  // was not to be joined.
  const std::string& inherited_problem() const { return inherited_problem_; }
  // A call for each block that was joined; valid as long as the reader.
  std::span<const Event> joined() const {
    return heap_ == nullptr ? std::span<const Event>() : heap_->blocks;
  }
  // So many frames of the parent's tape come before those of this one.
  FrameNumber joined_frames() const { return heap_ == nullptr ? 0 : heap_->frames.limit() - 1; }
  // Whose calls made the heap that was joined.
  std::vector<Ancestor> ancestors() const {
    return heap_ == nullptr ? std::vector<Ancestor>() : heap_->ancestors;
  }
  // Under kSkip, what was met so far: by open() in the outline of the file, by read() inside
  // chunks.
  const std::vector<Damage>& damages() const { return damage_.list(); }

  // Continues at the given event (0-based; at most events()), or after it if it is lost.
  base::Status seek(uint64_t event);
  // Replaces `batch` with the next events, at most `max_events`. If some were requested but none
  // come, the tape is at its end; samples and thread ends may still come with it.
  base::Status read(EventBatch& batch, size_t max_events);

  // All frames and mappings of the tape, except those lost to damage. Takes a pass over the tape,
  // and continues at its beginning.
  base::Result<Stacks> read_stacks();
  // The samples of the process in the chunks that have the calls `from` to `to`, which are not
  // decoded. Leaves the reader where it is.
  base::Result<std::vector<ProcessSample>> read_samples(uint64_t from, uint64_t to);
  // Calls before chunks of events, as seek() has them, ascending: a reader that stops at one of
  // these and one that seeks there share no chunk, and leave out none.
  std::vector<uint64_t> chunk_beginnings() const;
  // After how many calls the tape has a keyframe, ascending.
  std::vector<uint64_t> keyframes() const;
  // The latest keyframe at or before that call; nothing if there is none, or if other blocks were
  // joined. Leaves the reader where it is.
  base::Result<std::optional<Keyframe>> read_keyframe(uint64_t event);
  // As read_stacks(), but without the frames and mappings behind the call `until`, and those before
  // the keyframe are taken from keyframes.
  base::Result<Stacks> read_stacks(const Keyframe& from, uint64_t until);

 private:
  TapeReader(TapeFile file, OnDamage on_damage);

  base::Status open_contents();
  base::Status check_beginning();
  base::Status load_header();
  base::Status load_summary();
  base::Status load_threads();
  base::Status load_inheritance();
  void join_inheritance(int generation);
  void stand_before(uint64_t number);
  base::Status seek_own(uint64_t number);
  base::Status read_own(EventBatch& batch, size_t max_events);
  void read_inherited(EventBatch& batch, size_t max_events);
  void shift(EventBatch& batch) const;
  // False at the end of the tape.
  base::Result<bool> load_next_chunk();
  base::Status load_chunk(const ChunkRef& chunk, EventDecoder& decoder, uint64_t& chunks_end,
                          uint64_t& chunk_bytes) const;
  base::Status add_part(EventDecoder& part, Keyframe& keyframe) const;
  base::Status take_stacks(uint64_t until, Stacks& stacks);
  std::optional<Stacks> keyframe_stacks(uint64_t until) const;
  base::Status read_events(EventBatch& batch);
  uint64_t position() const;
  void take_samples(EventBatch& batch);
  void take_all_samples(EventBatch& batch);

  TapeFile file_;
  DamageLog damage_;
  TapeHeader header_;
  std::optional<TapeSummary> summary_;
  std::vector<ChunkRef> chunks_;
  std::vector<ChunkRef> keyframes_;  // of these, by call
  std::optional<uint64_t> cut_at_;
  std::vector<uint64_t> tail_words_;  // of the last chunk, if that is in parts
  uint64_t event_count_ = 0;
  uint64_t first_number_ = 0;  // of the first call: chunks count those that were dropped
  std::optional<Inheritance> inheritance_;
  std::shared_ptr<const InheritedHeap> heap_;  // null: none was joined
  std::string inherited_problem_;
  uint64_t heap_given_ = 0;  // of the blocks in heap_, those that read() gave
  size_t next_chunk_ = 0;    // in chunks_
  uint64_t chunks_end_ = 0;  // where the last chunk read ended
  EventDecoder decoder_;
  size_t next_time_ = 0;      // in decoder_.times()
  size_t next_end_ = 0;       // in decoder_.ends()
  size_t next_steering_ = 0;  // in decoder_.steering()
  size_t next_mapped_ = 0;    // in decoder_.mapped()
  size_t next_sample_ = 0;    // in decoder_.samples()
  size_t next_mark_ = 0;      // in decoder_.marks()
};

}  // namespace heaptape::schema
