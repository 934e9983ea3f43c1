#include <algorithm>
#include <optional>
#include <ostream>
#include <vector>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/tape_copy.h"
#include "cli/tape_reading.h"
#include "schema/tape/live_blocks.h"
#include "schema/tape/stack_end.h"

namespace heaptape::cli {
namespace {

using base::Result;
using base::Status;
using schema::Event;
using schema::EventBatch;
using schema::Stacks;
using schema::TapeHeader;
using schema::TapeReader;
using schema::TapeSummary;

// Placement by allocators may depend on an address modulo this (allocators/backend.h, break_phase),
// so addresses move only by multiples of it.
constexpr uint64_t kStep = uint64_t{64} << 20;
constexpr uint64_t kLowestAfter = 0x100000000000;

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// FNV-1a, 64 bits: a name has the same hash in every tape.
std::string hashed(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return base::format_text("name-%016llx", static_cast<unsigned long long>(hash));
}

// Collects the facts about a tape that copying its calls needs.
class Survey {
 public:
  Survey(uint64_t from, uint64_t until) : before_(from - 1), until_(until) {}

  void add(const EventBatch& batch) {
    for (size_t i = 0; i < batch.events.size(); ++i) {
      const uint64_t number = batch.first_event + i + 1;
      if (number > until_) break;
      const Event& event = batch.events[i];
      note_address(event.address);
      note_address(event.freed_address);
      if (number <= before_) held_.add(event, batch.stacks.empty() ? 0 : batch.stacks[i], number);
    }
    for (const schema::ProcessSample& sample : batch.samples) {
      for (const base::AddressRange& region : sample.regions) note_address(region.begin);
    }
    for (const schema::SteeringCall& call : batch.steering) {
      const bool lasts = schema::steering_info(call.op).effect == schema::SteeringEffect::kLasting;
      if (lasts && before_ != 0 && call.event <= before_) settings_.push_back(call);
    }
    for (const schema::TimeSample& time : batch.times) {
      if (before_ != 0 && time.event <= before_) begin_ns_ = std::max(begin_ns_, time.time_ns);
    }
  }
  void note_address(uint64_t address) {
    if (address != 0) lowest_ = std::min(lowest_, address);
  }

  // Add it to each address, modulo 2^64.
  uint64_t shift() const {
    return lowest_ == UINT64_MAX ? 0 : kLowestAfter - lowest_ / kStep * kStep;
  }
  uint64_t begin_ns() const { return begin_ns_; }
  // The calls before the kept part by which the program set its allocator up.
  const std::vector<schema::SteeringCall>& settings() const { return settings_; }
  // The blocks that are live when the kept part begins.
  std::vector<schema::LiveBlock> held() const { return held_.list(); }

 private:
  uint64_t before_;  // calls before the kept part
  uint64_t until_;
  uint64_t lowest_ = UINT64_MAX;
  uint64_t begin_ns_ = 0;
  std::vector<schema::SteeringCall> settings_;
  schema::LiveBlocks held_;
};

// Removes traces of the machine, and cuts the end off.
class Scrubber {
 public:
  Scrubber(const Survey& survey, const ScrubOptions& options)
      : shift_(survey.shift()), begin_ns_(survey.begin_ns()), options_(options) {}

  TapeHeader header(const TapeHeader& tape) const {
    TapeHeader header;
    header.writer = tape.writer;
    header.allocator = last_part(tape.allocator);
    header.recorded_allocator = tape.recorded_allocator;
    if (!options_.drop_settings) header.settings = tape.settings;
    if (options_.hash_names) hide_allocator(tape, header);
    header.page_bytes = tape.page_bytes;
    header.initial_break = moved(tape.initial_break);
    header.clock = tape.clock;
    header.stacks = tape.stacks;
    header.origin = tape.origin;
    return header;
  }
  Stacks stacks(const Stacks& tape) const {
    Stacks scrubbed;
    for (schema::FrameNumber number = 1; number < tape.limit(); ++number) {
      const schema::Frame* const found = tape.find(number);
      if (found == nullptr) continue;
      schema::Frame frame = *found;
      // The kernel's page for old programs lies above the addresses of processes.
      const bool is_code =
          frame.return_address >= schema::kStackEnds && frame.return_address < base::kAddressLimit;
      if (is_code) frame.return_address = moved(frame.return_address);
      scrubbed.add_frames(number - 1, {&frame, 1});
    }
    for (const schema::CodeMapping& mapping : tape.mappings()) {
      scrubbed.add_mapping(scrub(mapping));
    }
    return scrubbed;
  }
  Event scrub(Event event) const {
    event.address = moved(event.address);
    event.freed_address = moved(event.freed_address);
    return event;
  }
  std::vector<schema::InnerAllocator> scrub(std::vector<schema::InnerAllocator> files) const {
    for (schema::InnerAllocator& file : files) file.file = name(file.file);
    return files;
  }
  void scrub(EventBatch& batch) const {
    const uint64_t left = options_.to - std::min(options_.to, batch.first_event);
    if (batch.events.size() > left) batch.events.resize(left);
    const auto is_behind = [this](const auto& piece) { return piece.event > options_.to; };
    std::erase_if(batch.samples, is_behind);
    std::erase_if(batch.times, is_behind);
    std::erase_if(batch.thread_ends, is_behind);
    std::erase_if(batch.marks, is_behind);
    const auto is_outside = [&](const auto& call) {
      return is_behind(call) || (options_.from > 1 && call.event < options_.from);
    };
    std::erase_if(batch.steering, is_outside);
    std::erase_if(batch.mapped, is_outside);
    for (schema::MappingCall& call : batch.mapped) {
      const uint64_t begin = moved(call.range.begin);
      const uint64_t room = base::kAddressLimit - std::min(begin, base::kAddressLimit);
      call.range = {begin, begin + std::min(call.range.bytes(), room)};
    }
    // Far below all blocks, these are no addresses now.
    std::erase_if(batch.mapped, [](const schema::MappingCall& call) {
      return call.range.begin >= base::kAddressLimit;
    });
    for (Event& event : batch.events) event = scrub(event);
    for (schema::TimeSample& time : batch.times) time.time_ns = since_begin(time.time_ns);
    for (schema::Mark& mark : batch.marks) mark.time_ns = since_begin(mark.time_ns);
    for (schema::ProcessSample& sample : batch.samples) {
      sample.time_ns = since_begin(sample.time_ns);
      for (base::AddressRange& region : sample.regions) {
        region = {moved(region.begin), moved(region.end)};
      }
      for (schema::OwnedMemory& one : sample.parts.owners) one.owner = owner(one.owner);
    }
  }

 private:
  // Keeps its family and the numbers of its version: the version of a privately built library may
  // contain other text.
  static void hide_allocator(const TapeHeader& tape, TapeHeader& header) {
    if (!header.allocator.empty()) header.allocator = hashed(header.allocator);
    header.recorded_allocator.family = tape.allocator_family();
    std::string& version = header.recorded_allocator.version;
    version = version.substr(0, version.find_first_not_of("0123456789."));
  }
  std::string name(const std::string& path) const {
    return options_.hash_names ? hashed(last_part(path)) : last_part(path);
  }
  std::string owner(const std::string& name) const {
    return options_.hash_names && !schema::is_fixed_owner(name) ? hashed(name) : name;
  }
  uint64_t moved(uint64_t address) const { return address == 0 ? 0 : address + shift_; }
  uint64_t since_begin(uint64_t time_ns) const { return time_ns - std::min(time_ns, begin_ns_); }
  schema::CodeMapping scrub(schema::CodeMapping mapping) const {
    mapping.range = {moved(mapping.range.begin), moved(mapping.range.end)};
    if (mapping.path != schema::kMadeCodePath) mapping.path = name(mapping.path);
    if (!options_.hash_names) return mapping;
    if (!mapping.function.empty()) mapping.function = hashed(mapping.function);
    mapping.build_id.clear();
    return mapping;
  }

  uint64_t shift_;
  uint64_t begin_ns_;
  const ScrubOptions& options_;
};

// The tape's summary without thread names. A part has only the losses of the whole, and its files
// with allocators inside.
TapeSummary scrubbed_summary(const TapeReader& tape, const Scrubber& scrubber, bool is_part,
                             uint64_t duration_ns) {
  const TapeSummary whole = summary_to_count(tape);
  TapeSummary summary = whole;
  if (is_part || !tape.summary()) {
    summary = {};
    summary.end_reason = schema::EndReason::kRecordingStopped;
    summary.end_status = -1;
    summary.duration_ns = duration_ns;
    summary.losses = whole.losses;
    summary.late_ns = whole.late_ns;
  }
  summary.inner_allocators = scrubber.scrub(whole.inner_allocators);
  summary.thread_list.clear();
  return summary;
}

// So many calls at the beginning of the kept part hand out blocks that were inherited.
uint64_t begins_with(const TapeReader& tape, const ScrubOptions& options) {
  const uint64_t inherited = std::min(tape.inherited_blocks(), options.to);
  return inherited - std::min(inherited, options.from - 1);
}

Status check(const ScrubOptions& options, const TapeReader& tape) {
  if (base::same_file(tape.path(), options.output)) {
    return base::Error::usage(base::quoted(options.output) +
                              " is the tape itself: write to another file");
  }
  return check_range(options.from, options.to, tape);
}

Result<TapeSummary> scrub(const ScrubOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_tape(options.path, schema::OnDamage::kStop, console));
  HEAPTAPE_RETURN_IF_ERROR(check(options, tape));
  HEAPTAPE_ASSIGN_OR_RETURN(const Stacks stacks, tape.read_stacks());
  Survey survey(options.from, options.to);
  survey.note_address(tape.header().initial_break);
  for (const auto& mapping : stacks.mappings()) survey.note_address(mapping.range.begin);
  HEAPTAPE_RETURN_IF_ERROR(
      for_each_batch(tape, [&](const EventBatch& batch) { survey.add(batch); }));
  const Scrubber scrubber(survey, options);
  const Stacks scrubbed_stacks = scrubber.stacks(stacks);
  HEAPTAPE_ASSIGN_OR_RETURN(
      auto writer, schema::TapeWriter::create(options.output, scrubber.header(tape.header())));
  const std::vector<schema::LiveBlock> held = survey.held();
  const uint64_t blocks = held.size() + begins_with(tape, options);
  const uint64_t dropped = options.from == 1 ? tape.dropped_calls() : 0;
  if (blocks != 0 || dropped != 0) {
    // That it was forked is said by a name, which nobody opens.
    const bool is_missing = dropped != 0 && !tape.inherited_problem().empty();
    writer->add_inheritance(
        {.tape = is_missing ? "parent.tape" : "", .blocks = blocks, .dropped = dropped});
  } else if (!tape.inherited_problem().empty()) {
    writer->add_inheritance({});
  }
  TapeCopy copy(scrubbed_stacks, *writer);
  for (const schema::SteeringCall& call : survey.settings()) writer->add_steering(call);
  for (const schema::LiveBlock& block : held) copy.add(scrubber.scrub(block.birth), block.stack);
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(options.from - 1));
  HEAPTAPE_RETURN_IF_ERROR(for_each_batch(tape, [&](EventBatch& batch) {
    scrubber.scrub(batch);
    copy.add(batch);
  }));
  HEAPTAPE_RETURN_IF_ERROR(copy.finish());
  const bool is_part = options.from > 1 || options.to < tape.events();
  return writer->finish(scrubbed_summary(tape, scrubber, is_part, copy.last_time_ns()));
}

}  // namespace

int run_scrub(const ScrubOptions& options, Console& console) {
  tell_file_size_limit();
  const Result<TapeSummary> written = scrub(options, console);
  if (!written.ok()) return console.fail(written.error());
  console.out() << base::display_text(options.output) << ": " << base::grouped(written->events)
                << " events\n";
  return console.finish();
}

}  // namespace heaptape::cli
