// What comes back: the calls that export writes and import reads, and the tapes of recover and
// scrub.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/address/pages.h"
#include "base/number_text.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using schema::Event;
using schema::Op;
using schema::OpKind;
using tests::run;

constexpr size_t kCopiedCalls = 6'000;

OpKind kind_of(const Event& event) {
  return schema::op_info(event.op).kind;
}

// With frees of blocks that were freed before.
std::vector<Event> with_double_frees(tests::Random& random, const std::vector<Event>& events) {
  std::vector<Event> all;
  for (const Event& event : events) {
    all.push_back(event);
    const bool is_gone = !schema::is_failed(event) && event.freed_address != event.address;
    if (is_gone && event.freed_address != 0 && random.chance(50)) {
      all.push_back(tests::free_event(event.freed_address, event.thread));
    }
  }
  return all;
}

// All that batches of a tape have, and the frames of a stack instead of its number.
struct Contents {
  std::vector<Event> events;
  std::vector<std::vector<uint64_t>> stacks;  // return addresses of each event, the innermost first
  std::vector<schema::TimeSample> times;
  std::vector<schema::ThreadEnd> ends;
  std::vector<schema::MappingCall> mapped;            // without their stacks
  std::vector<std::vector<uint64_t>> mapping_stacks;  // as stacks
  std::vector<schema::ProcessSample> samples;
  std::vector<schema::Mark> marks;

  bool operator==(const Contents&) const = default;
};

std::vector<uint64_t> frames_of(const schema::Stacks& stacks, schema::FrameNumber number) {
  std::vector<uint64_t> frames;
  while (const schema::Frame* const frame = stacks.find(number)) {
    frames.push_back(frame->return_address);
    number = frame->caller;
  }
  return frames;
}

Contents contents_of(const std::string& path) {
  auto tape = std::move(*schema::TapeReader::open(path));
  const schema::Stacks stacks = std::move(*tape.read_stacks());
  EXPECT_TRUE(tape.seek(0).ok());
  Contents all;
  schema::EventBatch batch;
  const auto add = [](auto& list, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  while (tape.read(batch, 1000).ok() && !batch.empty()) {
    for (size_t i = 0; i < batch.events.size(); ++i) {
      all.stacks.push_back(frames_of(stacks, batch.stacks.empty() ? 0 : batch.stacks[i]));
    }
    add(all.events, batch.events);
    add(all.times, batch.times);
    add(all.ends, batch.thread_ends);
    for (schema::MappingCall call : batch.mapped) {
      all.mapping_stacks.push_back(frames_of(stacks, std::exchange(call.stack, 0)));
      all.mapped.push_back(call);
    }
    add(all.samples, batch.samples);
    add(all.marks, batch.marks);
  }
  return all;
}

class Copies : public testing::Test {
 protected:
  // Every kind of call and of piece that a tape can have.
  Copies()
      : random_(tests::test_seed()),
        events_(with_double_frees(random_, tests::eventful_events(random_, kCopiedCalls))) {
    auto writer = std::move(*schema::TapeWriter::create(tape_, tests::sample_header()));
    schema::TapeEncoder& encoder = writer->encoder();
    encoder.set_has_stacks();
    encoder.add_mapping({0, {0x555555000000, 0x555555100000}, 0x1000, "/secret/server", "id"});
    encoder.add_mapping(
        {2000, {0x7f0000000000, 0x7f0000100000}, 0, schema::kMadeCodePath, "", "f"});
    std::vector<schema::FrameNumber>& frames = frames_;
    for (uint64_t i = 0; i < 40; ++i) {
      const uint64_t module = i % 2 == 0 ? 0x555555000000 : 0x7f0000000000;
      const schema::Frame frame{frames[random_.below(frames.size())], module + 16 * i + 1};
      frames.push_back(encoder.add_frame(frame));
    }
    uint64_t time_ns = 0;
    uint32_t caller = 0;  // of the call before
    std::set<uint32_t> ended;
    for (Event& event : events_) {
      add_pieces(*writer, time_ns += random_.below(5'000));
      if (random_.chance(300) && ended.insert(caller).second) writer->add_end(caller);
      while (ended.contains(event.thread)) event.thread += 3;  // a new one instead
      caller = event.thread;
      writer->append(event, frames[random_.below(frames.size())]);
    }
    writer->add_end(caller);
    add_pieces(*writer, time_ns);
    schema::TapeSummary summary;
    summary.duration_ns = time_ns;
    summary.end_status = 3;
    summary.late_ns = 7;
    summary.losses.lost_events = 5;
    summary.losses.lost_ranges = 2;
    summary.thread_list = {{4242, "secret-thread"}};
    EXPECT_TRUE(writer->finish(summary).ok());
    whole_ = contents_of(tape_);
    EXPECT_TRUE(whole_.events == events_);
  }

  void add_pieces(schema::TapeWriter& writer, uint64_t time_ns) {
    if (random_.chance(40)) writer.add_time(time_ns);
    if (random_.chance(400)) writer.add_mark("m-" + std::to_string(random_.below(9)), time_ns);
    if (random_.chance(400)) {
      const uint64_t begin = 0x555555559000 + 0x1000 * random_.below(50);
      writer.add_sample({0, time_ns, 1 << 20, {{begin, begin + 0x1000}}, {7, 8, 9, 10}});
    }
    if (random_.chance(400)) {
      const uint64_t begin = 0x555555559000 + 0x1000 * random_.below(50);
      writer.add_mapping_call({.range = {begin, begin + 0x2000},
                               .detail = random_.below(9),
                               .stack = frames_[random_.below(frames_.size())]});
    }
  }

  // Runs a command that writes a tape, and reads it.
  Contents made_by(std::vector<std::string> words, const std::vector<std::string>& options = {}) {
    words.insert(words.begin(), "heaptape");
    words.insert(words.end(), {"-o", made_});
    words.insert(words.end(), options.begin(), options.end());
    const tests::Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return contents_of(made_);
  }
  std::string exported(const std::string& format) {
    const tests::Ended ended = run({"heaptape", "export", tape_, "--format", format, "-o", trace_});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return trace_;
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("secret-name.tape");
  std::string made_ = dir_.file("made");
  std::string trace_ = dir_.file("trace");
  tests::Random random_;
  std::vector<schema::FrameNumber> frames_{0};
  std::vector<Event> events_;
  Contents whole_;
};

// Which blocks are known, as an importer keeps them.
class KnownBlocks {
 public:
  // The event without a block that is not known; nothing for a free of one.
  std::optional<Event> take(Event event) {
    const bool is_known = blocks_.contains(event.freed_address);
    if (event.freed_address != 0 && !is_known) {
      if (kind_of(event) == OpKind::kRelease) return std::nullopt;
      event.freed_address = 0;
    }
    if (!schema::is_failed(event)) blocks_.erase(event.freed_address);
    if (event.address != 0) blocks_.insert(event.address);
    return event;
  }

 private:
  std::set<uint64_t> blocks_;
};

// The entry points of Android's format.
Event as_android(Event event) {
  switch (kind_of(event)) {
    case OpKind::kRelease:
      return {Op::kFree, event.thread, 0, 0, 0, event.freed_address};
    case OpKind::kResize:
      event.op = Op::kRealloc;
      return event;
    case OpKind::kAllocate:
      break;
  }
  const bool is_paged = event.op == Op::kValloc || event.op == Op::kPvalloc;
  if (is_paged) event.alignment = base::kPageBytes;
  if (event.op != Op::kCalloc) event.op = event.alignment == 0 ? Op::kMalloc : Op::kMemalign;
  return event;
}

// mtrace has no threads and no alignments, and of resizes those that have an old block and a new.
Event as_mtrace(const Event& event) {
  if (kind_of(event) == OpKind::kRelease || schema::frees_by_resize(event)) {
    return {Op::kFree, 0, 0, 0, 0, event.freed_address};
  }
  const Op op = event.freed_address == 0 ? Op::kMalloc : Op::kRealloc;
  return {op, 0, event.size, 0, event.address, event.freed_address};
}

TEST_F(Copies, OfAndroidHaveTheCallsAndTheEndsOfThreads) {
  const Contents back = made_by({"import", "android", exported("android")});
  KnownBlocks blocks;
  std::map<uint32_t, uint32_t> threads;  // numbered as they come
  uint32_t thread_count = 0;
  std::vector<Event> calls;
  std::vector<schema::ThreadEnd> ends;
  auto end = whole_.ends.begin();
  for (size_t i = 0; i <= events_.size(); ++i) {
    for (; end != whole_.ends.end() && end->event == i; ++end) {
      const auto found = threads.find(end->thread);
      if (found != threads.end()) ends.push_back({calls.size(), found->second});
    }
    if (i == events_.size()) break;
    const auto [thread, is_new] = threads.try_emplace(events_[i].thread, thread_count);
    if (is_new) ++thread_count;
    const auto call = blocks.take(as_android(events_[i]));
    if (!call) continue;
    calls.push_back(*call);
    calls.back().thread = thread->second;
  }
  EXPECT_GT(ends.size(), 2u);
  EXPECT_TRUE(back.ends == ends);
  ASSERT_EQ(back.events.size(), calls.size());
  for (size_t i = 0; i < calls.size(); ++i) ASSERT_TRUE(back.events[i] == calls[i]) << i;
}

TEST_F(Copies, OfMtraceHaveTheCalls) {
  const Contents back = made_by({"import", "mtrace", exported("mtrace")});
  KnownBlocks blocks;
  std::vector<Event> calls;
  for (const Event& event : events_) {
    if (const auto call = blocks.take(as_mtrace(event))) calls.push_back(*call);
  }
  ASSERT_EQ(back.events.size(), calls.size());
  for (size_t i = 0; i < calls.size(); ++i) ASSERT_TRUE(back.events[i] == calls[i]) << i;
}

// Its numbers name blocks: each line is of the block that the call had.
TEST_F(Copies, OfTheMallocLabAreCallsOfTheSameBlocks) {
  std::istringstream lines(tests::read_bytes(exported("malloclab")));
  uint64_t heap = 0, numbers = 0, calls = 0, weight = 0;
  lines >> heap >> numbers >> calls >> weight;
  std::map<uint64_t, uint64_t> blocks;  // addresses by number
  std::set<uint64_t> known;
  uint64_t highest = 0;
  for (const Event& event : events_) {
    const bool gives_up = kind_of(event) == OpKind::kRelease || schema::frees_by_resize(event);
    const bool has_old = known.contains(event.freed_address);
    if (schema::is_failed(event) || (gives_up && !has_old)) continue;
    --calls;
    char letter = 0;
    uint64_t number = 0, size = event.size;
    lines >> letter >> number;
    if (letter != 'f') lines >> size;
    ASSERT_EQ(letter, gives_up ? 'f' : has_old ? 'r' : 'a');
    ASSERT_EQ(size, event.size);
    ASSERT_EQ(blocks.contains(number), has_old);
    if (has_old) {
      ASSERT_EQ(blocks[number], event.freed_address);
    }
    highest = std::max(highest, number + 1);
    known.erase(event.freed_address);
    blocks.erase(number);
    if (event.address == 0) continue;
    known.insert(event.address);
    blocks[number] = event.address;
  }
  EXPECT_EQ(calls, 0u);
  EXPECT_EQ(highest, numbers);
  std::string more;
  EXPECT_FALSE(lines >> more) << more;
}

TEST_F(Copies, OfRecoveryHaveAllThatIsOnTheTape) {
  EXPECT_TRUE(made_by({"recover", tape_}) == whole_);
  const auto before = schema::TapeReader::open(tape_);
  const auto after = schema::TapeReader::open(made_);
  EXPECT_TRUE(after->header() == before->header());
  EXPECT_EQ(after->summary()->end_reason, schema::EndReason::kRecovered);
  EXPECT_TRUE(after->summary()->thread_list == before->summary()->thread_list);
  EXPECT_TRUE(after->summary()->losses == before->summary()->losses);
}

TEST_F(Copies, ThatArePackedAreTheSameTapeInFewerBytes) {
  EXPECT_TRUE(made_by({"pack", tape_}) == whole_);
  const auto before = schema::TapeReader::open(tape_);
  const auto after = schema::TapeReader::open(made_);
  EXPECT_TRUE(after->header() == before->header());
  EXPECT_TRUE(*after->summary() == *before->summary());
  EXPECT_LT(std::filesystem::file_size(made_), std::filesystem::file_size(tape_));
  const std::string events = base::counted(events_.size(), "event");
  EXPECT_EQ(run({"heaptape", "pack", tape_, "-o", "/dev/null"}).out, "/dev/null: " + events + "\n");
}

// A scrubbed tape has the same pieces behind the same calls; addresses and times are moved.
class ScrubbedCopies : public Copies {
 protected:
  static uint64_t moved(uint64_t address, uint64_t shift) {
    return address == 0 ? 0 : address + shift;
  }
  // The part of the tape from one call to another, as scrub should write it.
  Contents part(uint64_t from, uint64_t until, uint64_t shift) const {
    Contents part;
    std::map<uint64_t, std::pair<size_t, Event>> live;  // by address: number and birth
    uint64_t begin_ns = 0;
    for (size_t i = 0; i + 1 < from; ++i) {
      Event birth = events_[i];
      if (schema::is_failed(birth)) continue;
      live.erase(birth.freed_address);
      birth.freed_address = 0;
      if (kind_of(birth) == OpKind::kResize) birth.op = Op::kMalloc;
      if (birth.address != 0) live[birth.address] = {i, birth};
    }
    std::map<size_t, Event> births;
    for (const auto& [address, birth] : live) births.insert(birth);
    const auto add = [&](size_t i, Event event) {
      event.address = moved(event.address, shift);
      event.freed_address = moved(event.freed_address, shift);
      part.events.push_back(event);
      part.stacks.push_back(whole_.stacks[i]);
      for (uint64_t& frame : part.stacks.back()) frame += shift;
    };
    for (const auto& [i, birth] : births) add(i, birth);
    for (uint64_t i = from - 1; i < until; ++i) add(i, events_[i]);
    for (const schema::TimeSample& time : whole_.times) {
      if (from > 1 && time.event < from) begin_ns = time.time_ns;
    }
    // What is behind the call before is still of the part.
    const auto keep = [&](const auto& pieces, auto& kept) {
      for (auto piece : pieces) {
        if (piece.event + 1 < from || piece.event > until) continue;
        piece.event = piece.event - (from - 1) + births.size();
        if constexpr (requires { piece.time_ns; })
          piece.time_ns -= std::min(piece.time_ns, begin_ns);
        if constexpr (requires { piece.regions; }) {
          for (auto& region : piece.regions) region = {region.begin + shift, region.end + shift};
        }
        kept.push_back(piece);
      }
    };
    keep(whole_.times, part.times);
    keep(whole_.ends, part.ends);
    keep(whole_.samples, part.samples);
    keep(whole_.marks, part.marks);
    for (size_t i = 0; i < whole_.mapped.size(); ++i) {
      schema::MappingCall call = whole_.mapped[i];
      if ((from > 1 && call.event < from) || call.event > until) continue;
      part.mapping_stacks.push_back(whole_.mapping_stacks[i]);
      for (uint64_t& frame : part.mapping_stacks.back()) frame += shift;
      call.event = call.event - (from - 1) + births.size();
      call.range = {call.range.begin + shift, call.range.end + shift};
      part.mapped.push_back(call);
    }
    return part;
  }
  void expect_part(uint64_t from, uint64_t until, const Contents& found) const {
    SCOPED_TRACE("calls " + std::to_string(from) + " to " + std::to_string(until));
    const uint64_t shift = 0x100000000000 - 0x555555000000 / (64 << 20) * (64 << 20);
    const Contents wanted = part(from, until, shift);
    ASSERT_EQ(found.events.size(), wanted.events.size());
    for (size_t i = 0; i < wanted.events.size(); ++i) {
      ASSERT_TRUE(found.events[i] == wanted.events[i]) << i;
    }
    EXPECT_TRUE(found.stacks == wanted.stacks);
    EXPECT_TRUE(found.times == wanted.times);
    EXPECT_TRUE(found.ends == wanted.ends);
    EXPECT_TRUE(found.samples == wanted.samples);
    EXPECT_TRUE(found.marks == wanted.marks);
    EXPECT_TRUE(found.mapped == wanted.mapped);
    EXPECT_TRUE(found.mapping_stacks == wanted.mapping_stacks);
    EXPECT_EQ(schema::TapeReader::open(made_)->late_ns(), 7u);
  }
};

TEST_F(ScrubbedCopies, HaveAllPiecesBehindTheirCalls) {
  expect_part(1, events_.size(), made_by({"scrub", tape_}));
}

TEST_F(ScrubbedCopies, OfPartsHaveTheirPieces) {
  const uint64_t calls = events_.size();
  for (const auto& [from, until] : {std::pair(uint64_t{1}, uint64_t{1}),
                                    {2, 2},
                                    {calls, calls},
                                    {1, 4096},
                                    {1000, 4097},
                                    {4097, calls - 1},
                                    {3001, calls}}) {
    expect_part(
        from, until,
        made_by({"scrub", tape_}, {"--from", std::to_string(from), "--to", std::to_string(until)}));
  }
}

// Not even in bytes that nobody shows.
TEST_F(ScrubbedCopies, HaveNoByteOfASecret) {
  ASSERT_NE(tests::read_bytes(tape_).find("secret-thread"), std::string::npos);
  made_by({"scrub", tape_});
  EXPECT_EQ(tests::read_bytes(made_).find("secret"), std::string::npos);
}

TEST_F(ScrubbedCopies, HaveTheNamesOfLibrariesUnlessTheyAreHashed) {
  const auto mappings = [this] {
    std::string paths;
    const auto stacks = schema::TapeReader::open(made_)->read_stacks();
    EXPECT_TRUE(stacks.ok());
    for (const schema::CodeMapping& mapping : stacks->mappings()) paths += mapping.path + "\n";
    return paths;
  };
  made_by({"scrub", tape_});
  EXPECT_NE(mappings().find("server"), std::string::npos) << mappings();
  EXPECT_EQ(mappings().find("secret"), std::string::npos) << mappings();
  made_by({"scrub", tape_}, {"--hash-names"});
  EXPECT_NE(mappings(), "");
  EXPECT_EQ(mappings().find("server"), std::string::npos) << mappings();
}

}  // namespace
}  // namespace heaptape
