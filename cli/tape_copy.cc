#include "cli/tape_copy.h"

#include <algorithm>
#include <optional>

#include "base/output_file.h"
#include "cli/tape_reading.h"

namespace heaptape::cli {
namespace {

// Blocks that were joined are on the copy. It numbers its calls from the first one.
std::optional<schema::Inheritance> inheritance_of_copy(const schema::TapeReader& tape) {
  if (tape.dropped_calls() != 0) {
    schema::Inheritance same = *tape.inheritance();
    same.first_number = 0;
    return same;
  }
  if (tape.inherited_blocks() == 0) return tape.inheritance();
  return schema::Inheritance{.tape = "", .blocks = tape.inherited_blocks()};
}

}  // namespace

void TapeCopy::add(const schema::EventBatch& batch) {
  auto sample = batch.samples.begin();
  auto time = batch.times.begin();
  auto end = batch.thread_ends.begin();
  auto steering = batch.steering.begin();
  auto mapped = batch.mapped.begin();
  auto mark = batch.marks.begin();
  const auto copy_up_to = [&](uint64_t event) {
    for (; sample != batch.samples.end() && sample->event <= event; ++sample) {
      writer_.add_sample(*sample);
      if (keyframes_) keyframes_->note(*sample);
    }
    for (; time != batch.times.end() && time->event <= event; ++time) {
      writer_.add_time(time->time_ns);
      last_time_ns_ = std::max(last_time_ns_, time->time_ns);
    }
    for (; end != batch.thread_ends.end() && end->event <= event; ++end) {
      writer_.add_end(end->thread);
    }
    for (; steering != batch.steering.end() && steering->event <= event; ++steering) {
      writer_.add_steering(*steering);
    }
    for (; mapped != batch.mapped.end() && mapped->event <= event; ++mapped) {
      schema::MappingCall call = *mapped;
      call.stack = stacks_.copy(call.stack);
      writer_.add_mapping_call(call);
    }
    for (; mark != batch.marks.end() && mark->event <= event; ++mark) {
      writer_.add_mark(mark->name, mark->time_ns);
    }
  };
  for (size_t i = 0; i < batch.events.size(); ++i) {
    copy_up_to(batch.first_event + i);
    add(batch.events[i], batch.stacks.empty() ? 0 : batch.stacks[i]);
  }
  copy_up_to(UINT64_MAX);
}

void TapeCopy::add(const schema::Event& event, schema::FrameNumber stack) {
  const schema::FrameNumber copied = stacks_.copy(stack);
  writer_.append(event, copied);
  if (keyframes_) keyframes_->note(event, copied);
}

base::Status TapeCopy::finish() {
  stacks_.finish();
  writer_.flush();
  return writer_.status();
}

base::Result<schema::TapeSummary> copy_whole(
    schema::TapeReader& tape, const std::string& output,
    const std::function<schema::TapeSummary(const TapeCopy& copy)>& summary,
    const CopyOptions& options) {
  if (base::same_file(tape.path(), output)) {
    return base::Error::usage("'" + output + "' is the tape itself: write to another file");
  }
  // A pass of another reader: this one must not count damage twice.
  HEAPTAPE_ASSIGN_OR_RETURN(auto other,
                            schema::TapeReader::open(tape.path(), schema::OnDamage::kSkip));
  HEAPTAPE_ASSIGN_OR_RETURN(const schema::Stacks stacks, other.read_stacks());
  HEAPTAPE_ASSIGN_OR_RETURN(auto writer,
                            schema::TapeWriter::create(output, tape.header(), options.level));
  if (const auto inheritance = inheritance_of_copy(tape)) writer->add_inheritance(*inheritance);
  TapeCopy copy(stacks, *writer);
  if (options.keyframes) copy.add_keyframes(*options.keyframes);
  HEAPTAPE_RETURN_IF_ERROR(
      for_each_batch(tape, [&](const schema::EventBatch& batch) { copy.add(batch); }));
  HEAPTAPE_RETURN_IF_ERROR(copy.finish());
  return writer->finish(summary(copy));
}

schema::TapeSummary summary_to_count(const schema::TapeReader& tape) {
  schema::TapeSummary summary = tape.summary().value_or(schema::TapeSummary());
  summary.events = summary.allocations = summary.frees = summary.reallocations = 0;
  summary.failed = summary.threads = 0;
  if (tape.joined_blocks() != 0) summary.unknown_frees = 0;  // these blocks are on the copy
  return summary;
}

}  // namespace heaptape::cli
