// Copies one tape to another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "schema/tape/keyframe.h"
#include "schema/tape/stack_copier.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::cli {

// Copies batch by batch, with samples, times, ends of threads, steering, mapping calls and marks at
// their calls. One thread.
class TapeCopy {
 public:
  // `stacks` are those of the tape that is copied. Both must outlive the copy.
  TapeCopy(const schema::Stacks& stacks, schema::TapeWriter& writer)
      : stacks_(stacks, writer.encoder()), writer_(writer) {}

  void add(const schema::EventBatch& batch);
  // Adds an event without a batch.
  void add(const schema::Event& event, schema::FrameNumber stack);
  // From now on, before the first batch, the copy gets keyframes.
  void add_keyframes(const schema::KeyframeSpacing& spacing) {
    keyframes_.emplace(writer_, stacks_.copies(), spacing);
  }
  // Call it after the last batch. Also fails if the writer could not write: its own finish()
  // accepts a tape that a full disk has cut short.
  base::Status finish();

  // The time of the last event that has one; 0 if none has.
  uint64_t last_time_ns() const { return last_time_ns_; }

 private:
  schema::StackCopier stacks_;
  schema::TapeWriter& writer_;
  uint64_t last_time_ns_ = 0;
  std::optional<schema::KeyframeWriter> keyframes_;
};

struct CopyOptions {
  int level = schema::kTapeLevel;
  std::optional<schema::KeyframeSpacing> keyframes = {};  // nothing: the copy gets none
};

// Writes all that `tape`, just opened, has to another file, where its frames get new numbers.
// `summary(copy)` is that of the new tape; its counts of calls and threads must be 0. Returns the
// summary as written. Fails with kUsage if both are one file.
base::Result<schema::TapeSummary> copy_whole(
    schema::TapeReader& tape, const std::string& output,
    const std::function<schema::TapeSummary(const TapeCopy& copy)>& summary,
    const CopyOptions& options = {});

// The summary of the tape with the counts that its copy makes anew at 0; a new one if it has none.
schema::TapeSummary summary_to_count(const schema::TapeReader& tape);

}  // namespace heaptape::cli
