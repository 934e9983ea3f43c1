#include "tests/e2e/record_fixture.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "schema/tape/tape_reader.h"
#include "tests/support/tapes.h"

namespace heaptape::tests {

using schema::Event;
using schema::Op;
using schema::OpKind;

bool is_root() {
  return geteuid() == 0;
}

uint64_t Tape::mallocs_of(uint64_t size) const {
  return static_cast<uint64_t>(std::ranges::count_if(
      events, [size](const Event& e) { return e.op == Op::kMalloc && e.size == size; }));
}

uint64_t Tape::frees_of(uint64_t size) const {
  std::map<uint64_t, uint64_t> sizes;
  uint64_t frees = 0;
  for (const Event& event : events) {
    if (schema::op_info(event.op).kind == OpKind::kRelease) {
      const auto block = sizes.find(event.freed_address);
      if (block != sizes.end() && block->second == size) ++frees;
      if (block != sizes.end()) sizes.erase(block);
    } else if (event.address != 0) {
      if (event.freed_address != event.address) sizes.erase(event.freed_address);
      sizes[event.address] = event.size;
    }
  }
  return frees;
}

uint64_t Tape::count(Op op) const {
  return static_cast<uint64_t>(
      std::ranges::count_if(events, [op](const Event& event) { return event.op == op; }));
}

HeapWalk walk_heap(const std::vector<Event>& events) {
  HeapWalk walk;
  std::map<uint64_t, int> live;
  for (const Event& event : events) {
    if (schema::is_failed(event)) continue;
    const bool in_place = event.address != 0 && event.address == event.freed_address;
    if (in_place) continue;
    if (event.freed_address != 0 && live.erase(event.freed_address) == 0) ++walk.unknown_frees;
    if (event.address != 0 && !live.emplace(event.address, 0).second) ++walk.doubly_given;
  }
  walk.live = live.size();
  return walk;
}

Words RecordTest::record_words(const Words& command, const Words& options) const {
  Words words = {heaptape_path(), "record", "--force", "-o", tape_path()};
  if (const char* const stacks = std::getenv(kStacksVariable)) {
    words.insert(words.end(), {"--stacks", stacks});
  }
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Ended RecordTest::record(const Words& command, const Words& options) const {
  return record(CommandLine{.words = command}, options);
}

Ended RecordTest::record(const CommandLine& line, const Words& options) const {
  CommandLine recorded = line;
  recorded.words = record_words(line.words, options);
  return run_command(recorded);
}

Tape RecordTest::read_tape(const std::string& path, schema::Inherited inherited) const {
  Tape tape;
  auto reader = schema::TapeReader::open(path, schema::OnDamage::kStop, inherited);
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  if (!reader.ok()) return tape;
  tape.header = reader->header();
  tape.finished = reader->summary().has_value();
  tape.summary = reader->summary().value_or(schema::TapeSummary{});
  tape.events = read_events(*reader);
  EXPECT_EQ(tape.events.size(), reader->events());
  return tape;
}

schema::Manifest RecordTest::manifest() const {
  auto manifest = schema::read_manifest(tape_path() + ".manifest.json");
  EXPECT_TRUE(manifest.ok()) << manifest.error().message;
  return manifest.ok() ? std::move(*manifest) : schema::Manifest();
}

std::vector<Tape> RecordTest::read_tapes() const {
  std::vector<Tape> tapes;
  for (const auto& process : manifest().processes) {
    tapes.push_back(read_tape(dir_.file(process.tape)));
  }
  return tapes;
}

Tape RecordTest::tape_that_asks_for(uint64_t size) const {
  std::vector<Tape> tapes = read_tapes();
  std::erase_if(tapes, [size](const Tape& tape) { return tape.mallocs_of(size) == 0; });
  EXPECT_EQ(tapes.size(), 1u) << "tapes with a malloc of " << size;
  return tapes.empty() ? Tape{} : tapes.front();
}

std::string RecordTest::dump() const {
  const Ended dumped = run_command({heaptape_path(), "dump", tape_path()});
  EXPECT_EQ(dumped.status, 0) << dumped.describe();
  return dumped.out;
}

testing::AssertionResult RecordTest::verifies(const std::string& path) const {
  const Ended verified = run_command({heaptape_path(), "verify", path});
  if (verified.status == 0) return testing::AssertionSuccess();
  const Ended info = run_command({heaptape_path(), "info", path});
  return testing::AssertionFailure() << verified.describe() << info.out;
}

testing::AssertionResult RecordTest::all_verify() const {
  for (const auto& process : manifest().processes) {
    if (const auto result = verifies(dir_.file(process.tape)); !result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace heaptape::tests
