#include "tests/support/tapes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "schema/tape/tape_writer.h"

namespace heaptape::tests {

using schema::Event;
using schema::Op;
using schema::OpKind;

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t test_seed() {
  if (const char* given = std::getenv("HEAPTAPE_TEST_SEED")) {
    return std::strtoull(given, nullptr, 10);
  }
  constexpr uint64_t kSeedOfEveryBuild = 20261122;
  return kSeedOfEveryBuild;
}

Event malloc_event(uint64_t size, uint64_t address, uint32_t thread) {
  return {Op::kMalloc, thread, size, 0, address, 0};
}

Event free_event(uint64_t address, uint32_t thread) {
  return {Op::kFree, thread, 0, 0, 0, address};
}

Event realloc_event(uint64_t old_address, uint64_t size, uint64_t address) {
  return {Op::kRealloc, 0, size, 0, address, old_address};
}

std::vector<Event> arbitrary_events(Random& random, size_t count) {
  std::vector<Op> ops;
  for (int stored = 0; stored < schema::kOpLimit; ++stored) {
    if (schema::is_valid_op(static_cast<uint8_t>(stored))) ops.push_back(static_cast<Op>(stored));
  }
  const auto address = [&random]() -> uint64_t {
    if (random.chance(8)) return 0;
    const uint64_t mask = random.chance(50) ? ~uint64_t{0} : ~uint64_t{15};
    return (random.next() % base::kAddressLimit >> random.below(40)) & mask;
  };
  std::vector<Event> events(count);
  for (Event& event : events) {
    event.op = ops[random.below(ops.size())];
    const schema::OpInfo& info = schema::op_info(event.op);
    event.thread = random.chance(3) ? static_cast<uint32_t>(random.below(100)) : 0;
    if (info.kind != OpKind::kRelease) event.size = random.next() >> random.below(64);
    if (info.kind != OpKind::kRelease) event.address = address();
    if (info.kind != OpKind::kAllocate) event.freed_address = address();
    if (info.aligned) event.alignment = random.next() >> random.below(64);
  }
  return events;
}

std::vector<Event> plausible_events(Random& random, size_t count, uint64_t alignment,
                                    uint32_t threads) {
  std::vector<Event> events;
  std::vector<std::pair<uint64_t, uint64_t>> live;  // address, size
  std::multimap<uint64_t, uint64_t> free_blocks;    // size -> address
  uint64_t frontier = 0x555555559000;
  const auto take = [&](uint64_t size) {
    const uint64_t room = (size + 8 + alignment - 1) / alignment * alignment;
    if (auto found = free_blocks.find(room); found != free_blocks.end()) {
      const uint64_t address = found->second;
      free_blocks.erase(found);
      return address;
    }
    const uint64_t address = frontier;
    frontier += room;
    return address;
  };
  const auto give_back = [&](const std::pair<uint64_t, uint64_t>& block) {
    free_blocks.emplace((block.second + 8 + alignment - 1) / alignment * alignment, block.first);
  };
  while (events.size() < count) {
    const auto thread = static_cast<uint32_t>(random.below(threads));
    const uint64_t size = random.below(random.chance(20) ? 100000 : 300);
    const bool shrink = !live.empty() && random.below(1000) < live.size();
    if (!live.empty() && (shrink || random.chance(3))) {
      std::swap(live[random.below(live.size())], live.back());
      const auto block = live.back();
      live.pop_back();
      if (random.chance(5)) {
        const uint64_t address = take(size);
        events.push_back({Op::kRealloc, thread, size, 0, address, block.first});
        live.emplace_back(address, size);
      } else {
        events.push_back(free_event(block.first, thread));
      }
      give_back(block);
    } else {
      const uint64_t address = take(size);
      events.push_back(malloc_event(size, address, thread));
      live.emplace_back(address, size);
    }
  }
  return events;
}

namespace {

std::vector<Op> ops_of_kind(OpKind kind) {
  std::vector<Op> ops;
  for (int stored = 0; stored < schema::kOpLimit; ++stored) {
    if (!schema::is_valid_op(static_cast<uint8_t>(stored))) continue;
    const Op op = static_cast<Op>(stored);
    if (schema::op_info(op).kind == kind) ops.push_back(op);
  }
  return ops;
}

Op any_of(Random& random, const std::vector<Op>& ops) {
  return ops[random.below(ops.size())];
}

// Turns a plain event into one of its kind that is equally likely in a real program.
Event dressed(Random& random, Event event) {
  static const std::vector<Op> allocations = ops_of_kind(OpKind::kAllocate);
  static const std::vector<Op> releases = ops_of_kind(OpKind::kRelease);
  switch (schema::op_info(event.op).kind) {
    case OpKind::kAllocate:
      if (random.chance(20)) return {Op::kRealloc, event.thread, event.size, 0, event.address, 0};
      event.op = any_of(random, allocations);
      if (schema::op_info(event.op).aligned) event.alignment = uint64_t{8} << random.below(4);
      return event;
    case OpKind::kResize:
      if (random.chance(2)) event.op = Op::kReallocArray;
      return event;
    case OpKind::kRelease:
      if (random.chance(20)) return {Op::kRealloc, event.thread, 0, 0, 0, event.freed_address};
      event.op = any_of(random, releases);
      return event;
  }
  return event;
}

// A call that changes nothing: one that failed, or a free of nothing known. `live` may be null.
Event idle_event(Random& random, uint64_t live) {
  switch (random.below(5)) {
    case 0:
      return free_event(0);
    case 1:
      return free_event(0x7f0000000000 + random.below(1000) * 16);
    case 2:
      return realloc_event(0x7f0000000000, 0, 0);
    case 3:
      return realloc_event(live, 1 + random.below(1000), 0);
    default:
      return malloc_event(random.next(), 0);
  }
}

}  // namespace

std::vector<Event> eventful_events(Random& random, size_t count, uint64_t alignment, bool losses) {
  std::vector<Event> events;
  uint64_t live = 0;
  uint64_t live_size = 0;
  for (const Event& plain : plausible_events(random, count, alignment, 3)) {
    const bool is_free = schema::op_info(plain.op).kind == OpKind::kRelease;
    if (losses && is_free && random.chance(100)) continue;
    if (plain.freed_address == live) live = 0;
    if (live != 0 && random.chance(10)) {
      events.push_back(realloc_event(live, random.below(live_size + 1) + 1, live));
    }
    if (random.chance(10)) events.push_back(idle_event(random, live));
    events.push_back(dressed(random, plain));
    if (plain.address != 0) {
      live = plain.address;
      live_size = plain.size;
    }
  }
  return events;
}

schema::TapeHeader sample_header() {
  schema::TapeHeader header;
  header.writer = "heaptape test";
  header.command_line = {"./program", "--flag", "a b"};
  header.executable = "/usr/bin/program";
  header.allocator = "/lib/x86_64-linux-gnu/libc.so.6";
  header.pid = 42;
  header.parent_pid = 41;
  header.page_bytes = 4096;
  header.start_unix_ns = 1700000000000000000;
  header.initial_break = 0x555555559000;
  return header;
}

void write_tape(const std::string& path, const std::vector<Event>& events,
                const schema::TapeSummary& summary, const schema::TapeHeader& header) {
  auto writer = schema::TapeWriter::create(path, header);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  for (const Event& event : events) (*writer)->append(event);
  const auto written = (*writer)->finish(summary);
  ASSERT_TRUE(written.ok()) << written.error().message;
}

void write_sampled_tape(const std::string& path, const std::vector<Event>& events, Random& random) {
  auto writer = schema::TapeWriter::create(path, sample_header());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const uint64_t heap = sample_header().initial_break;
  for (const Event& event : events) {
    (*writer)->append(event);
    if (!random.chance(50)) continue;
    const uint64_t end = heap + (1 + random.below(4000)) * 4096;
    (*writer)->add_sample({0, 0, random.below(1 << 20) * 4096, {{heap, end}}});
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
}

std::vector<Event> read_events(schema::TapeReader& reader, size_t batch_events) {
  std::vector<Event> events;
  schema::EventBatch batch;
  for (;;) {
    const auto status = reader.read(batch, batch_events);
    EXPECT_TRUE(status.ok()) << status.error().message;
    if (!status.ok() || batch.events.empty()) return events;
    events.insert(events.end(), batch.events.begin(), batch.events.end());
  }
}

}  // namespace heaptape::tests
