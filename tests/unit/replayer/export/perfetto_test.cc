// The fields and sums of whole traces: tests/python/trace_export_test.py.
#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "replayer/export/history_formats.h"
#include "tests/support/exports.h"

namespace heaptape::replayer {
namespace {

using protozero::pbf_reader;

constexpr uint32_t kTimestamp = 8;
constexpr uint32_t kInternedData = 12;
constexpr uint32_t kProfilePacket = 37;

std::vector<std::string> texts(const std::string& message, uint32_t field) {
  std::vector<std::string> texts;
  for (pbf_reader reader(message); reader.next(field);) texts.push_back(reader.get_string());
  return texts;
}

std::vector<uint64_t> numbers(const std::string& message, uint32_t field) {
  std::vector<uint64_t> numbers;
  for (pbf_reader reader(message); reader.next(field);) numbers.push_back(reader.get_uint64());
  return numbers;
}

HeapHistory one_stack() {
  HeapHistory history;
  history.series = {{"liveBytes", true, {{0, 0}, {9, UINT64_MAX}}}};
  history.marks = {{7, "warm"}};
  history.moments = {{"peak", 5, {{2, {1, 300, 1, 300}}}}, {"end", 9, {}}};
  return history;
}

std::vector<std::string> packets(const HeapHistory& history, const tests::SampleStacks& sample) {
  return texts(perfetto_trace({42, "app", 0}, history, &sample.shown()), 1);
}

TEST(Perfetto, HasPacketsInOrderOfTime) {
  uint64_t last = 0;
  size_t timed = 0;
  for (const std::string& packet : packets(one_stack(), tests::SampleStacks())) {
    const std::vector<uint64_t> time = numbers(packet, kTimestamp);
    if (time.empty()) continue;
    EXPECT_GE(time[0], last);
    last = time[0];
    ++timed;
  }
  EXPECT_EQ(timed, 1 + 2 + 3 + 1u);  // clocks, points, instants and a profile
}

TEST(Perfetto, SplitsLargeProfiles) {
  HeapHistory history = one_stack();
  std::vector<schema::Frame> frames(10'000);
  std::vector<StackCount> counts;
  history.moments[0].changed.clear();
  for (uint32_t i = 0; i < frames.size(); ++i) {
    frames[i] = {0, 0x400000 + i};
    counts.push_back({i + 1, {.calls = 1, .asked_bytes = 1}});
    history.moments[0].changed.push_back({i + 1, {1, 1, 0, 0}});
  }
  schema::Stacks stacks;
  stacks.add_frames(0, frames);
  std::vector<CodePlace> places(1);
  std::vector<uint32_t> place_of_frame(1);
  for (uint32_t i = 0; i < frames.size(); ++i) {
    places.push_back({"/app", i + 1, {{"f" + std::to_string(i), "", 0}}});
    place_of_frame.push_back(i + 1);
  }
  const Symbols symbols(places, place_of_frame);
  const ShownStacks shown(stacks, symbols, *SiteRules::make({}), counts);
  std::vector<std::string> continued;
  for (const std::string& packet : texts(perfetto_trace({42, "app", 0}, history, &shown), 1)) {
    for (const std::string& profile : texts(packet, kProfilePacket)) continued.push_back(profile);
  }
  ASSERT_EQ(continued.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(numbers(continued[i], 6).size(), i < 2 ? 1u : 0u);  // continued
    EXPECT_EQ(numbers(continued[i], 7), std::vector<uint64_t>{i});
  }
}

TEST(Perfetto, SurvivesNamesOfAnyKind) {
  const std::string hostile = "a\"\\\n\xff" + std::string(100'000, 'x');
  const Symbols symbols({{}, {hostile, 1, {{hostile, hostile, 3}}}}, {0, 1, 1, 1, 1});
  size_t long_names = 0;
  for (const std::string& packet : packets(one_stack(), tests::SampleStacks({}, symbols))) {
    for (const std::string& data : texts(packet, kInternedData)) {
      for (const std::string& name : texts(data, 5)) {
        const std::string text = texts(name, 2).at(0);
        long_names += text.find(std::string(100'000, 'x')) != std::string::npos;
        EXPECT_EQ(text.find('\xff'), std::string::npos);
      }
    }
  }
  EXPECT_EQ(long_names, 1u);
}

}  // namespace
}  // namespace heaptape::replayer
