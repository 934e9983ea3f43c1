// Puts what one tape has onto another.
#pragma once

#include <cstdint>

#include "schema/tape/stack_copier.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::cli {

// Batch by batch, each piece at its call. One thread.
class TapeCopy {
 public:
  // `stacks`: those of the tape that is copied. Both outlive the copy.
  TapeCopy(const schema::Stacks& stacks, schema::TapeWriter& writer)
      : stacks_(stacks, writer.encoder()), writer_(writer) {}

  void add(const schema::EventBatch& batch);
  // Of an event that no batch has.
  void add(const schema::Event& event, schema::FrameNumber stack) {
    writer_.append(event, stacks_.copy(stack));
  }
  // After the last batch. Fails with what kept the writer from writing, too: its own finish()
  // accepts a tape that a full disk has cut short.
  base::Status finish();

  // Of the last event that has a time; 0: none has.
  uint64_t last_time_ns() const { return last_time_ns_; }

 private:
  schema::StackCopier stacks_;
  schema::TapeWriter& writer_;
  uint64_t last_time_ns_ = 0;
};

}  // namespace heaptape::cli
