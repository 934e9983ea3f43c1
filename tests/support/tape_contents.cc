#include "tests/support/tape_contents.h"

#include <gtest/gtest.h>

#include <optional>

#include "schema/tape/tape_reader.h"

namespace heaptape::tests {
namespace {

template <typename Value>
void append_all(std::vector<Value>& all, const std::vector<Value>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Contents read_contents(const std::string& path, const std::function<size_t()>& batch_events) {
  Contents contents;
  auto reader = schema::TapeReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  if (!reader.ok()) return contents;
  const auto stacks = reader->read_stacks();
  EXPECT_TRUE(stacks.ok()) << stacks.error().message;
  if (!stacks.ok()) return contents;
  for (schema::FrameNumber i = 1; i < stacks->limit(); ++i) {
    contents.frames.push_back(*stacks->find(i));
  }
  contents.mappings = stacks->mappings();
  schema::EventBatch batch;
  std::optional<schema::TimeSample> promised;
  do {
    const auto status = reader->read(batch, batch_events());
    EXPECT_TRUE(status.ok()) << status.error().message;
    if (!status.ok()) return contents;
    if (!batch.times.empty()) {
      EXPECT_EQ(batch.times.front(), promised.value_or(batch.times.front()));
      promised.reset();
    }
    if (batch.next_time) promised = batch.next_time;
    batch.stacks.resize(batch.events.size());
    append_all(contents.events, batch.events);
    append_all(contents.stacks, batch.stacks);
    append_all(contents.times, batch.times);
    append_all(contents.ends, batch.thread_ends);
    append_all(contents.steering, batch.steering);
    append_all(contents.mapped, batch.mapped);
    append_all(contents.samples, batch.samples);
    append_all(contents.marks, batch.marks);
  } while (!batch.events.empty());
  EXPECT_EQ(promised, std::nullopt);
  return contents;
}

}  // namespace heaptape::tests
