
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_reader.hpp>

#include "replayer/export/stack_formats.h"
#include "tests/support/exports.h"
#include "tests/support/gunzip.h"

namespace heaptape::replayer {
namespace {

using protozero::pbf_reader;

// A message read back: its numbers and texts by field.
struct Message {
  explicit Message(pbf_reader reader) {
    while (reader.next()) {
      if (reader.wire_type() == protozero::pbf_wire_type::varint) {
        numbers[reader.tag()].push_back(reader.get_uint64());
      } else {
        texts[reader.tag()].push_back(reader.get_string());
      }
    }
  }
  explicit Message(const std::string& bytes) : Message(pbf_reader(bytes)) {}
  uint64_t number(uint32_t field) const { return numbers.at(field).at(0); }

  std::map<uint32_t, std::vector<uint64_t>> numbers;
  std::map<uint32_t, std::vector<std::string>> texts;
};

class Pprof : public testing::Test {
 protected:
  void of(const tests::SampleStacks& sample, StackValue shown = StackValue::kPeak) {
    of(sample.shown(), shown);
  }
  void of(const ShownStacks& stacks, StackValue shown = StackValue::kPeak) {
    bytes_ = tests::gunzip(pprof_profile(stacks, shown));
    profile_.emplace(bytes_);
  }
  std::string text(uint64_t number) const { return profile_->texts.at(6).at(number); }
  std::vector<Message> messages(uint32_t field) const {
    std::vector<Message> list;
    for (const std::string& bytes : profile_->texts.at(field)) list.emplace_back(bytes);
    return list;
  }
  // By its number, in field 1.
  Message find(uint32_t field, uint64_t id) const {
    for (const Message& message : messages(field)) {
      if (message.number(1) == id) return message;
    }
    ADD_FAILURE() << "no " << id << " of field " << field;
    return Message(std::string());
  }
  std::vector<uint64_t> ids(uint32_t field) const {
    std::vector<uint64_t> ids;
    for (const Message& message : messages(field)) ids.push_back(message.number(1));
    std::ranges::sort(ids);
    return ids;
  }
  static std::vector<uint64_t> packed(const Message& message, uint32_t field) {
    std::vector<uint64_t> numbers;
    const std::string bytes = message.texts.at(field).at(0);
    for (const char* at = bytes.data(); at != bytes.data() + bytes.size();) {
      numbers.push_back(protozero::decode_varint(&at, bytes.data() + bytes.size()));
    }
    return numbers;
  }
  // "lex:3 parse(int):20 main:10", of the stack whose calls asked for so much.
  std::string lines_of(uint64_t asked_bytes) const {
    std::string lines;
    for (const Message& sample : messages(2)) {
      if (packed(sample, 2).at(2) != asked_bytes) continue;
      for (const uint64_t location : packed(sample, 1)) {
        const Message message = find(4, location);
        for (const std::string& bytes : message.texts.at(4)) {
          const Message line(bytes);
          lines +=
              text(find(5, line.number(1)).number(2)) + ":" + std::to_string(line.number(2)) + " ";
        }
      }
    }
    return lines;
  }

  std::string bytes_;
  std::optional<Message> profile_;
};

TEST_F(Pprof, HasTheTypesOfItsValues) {
  of(tests::SampleStacks());
  std::string types;
  for (const Message& type : messages(1)) {
    types += text(type.number(1)) + "/" + text(type.number(2)) + " ";
  }
  EXPECT_EQ(types,
            "peak_bytes/bytes peak_blocks/count alloc_bytes/bytes alloc_calls/count "
            "end_bytes/bytes temporaries/count mapped_bytes/bytes ");
  EXPECT_EQ(text(0), "");
}

TEST_F(Pprof, HasValuesThatAddUpToTheTape) {
  of(tests::SampleStacks());
  std::vector<uint64_t> sums(6);
  for (const Message& sample : messages(2)) {
    for (size_t i = 0; i < 6; ++i) sums[i] += packed(sample, 2).at(i);
  }
  EXPECT_EQ(sums, (std::vector<uint64_t>{407, 3, 467, 5, 307, 1}));
}

TEST_F(Pprof, HasTheInnermostLineFirst) {
  of(tests::SampleStacks());
  EXPECT_EQ(lines_of(100), "lex:3 parse(int):20 main:10 ");
  EXPECT_EQ(lines_of(57), "read:40 main:10 ");
  EXPECT_EQ(lines_of(10), "(no stack):0 ");
}

TEST_F(Pprof, LacksWhatIsHidden) {
  of(tests::SampleStacks({.hide = {"parse"}}));
  EXPECT_EQ(lines_of(100), "lex:3 main:10 ");
}

TEST_F(Pprof, KnowsTheModulesOfItsLocations) {
  of(tests::SampleStacks());
  const Message location = find(4, packed(messages(2).at(0), 1).at(0));
  EXPECT_EQ(location.number(3), 0x400200u);
  const Message mapping = find(3, location.number(2));
  EXPECT_EQ(mapping.number(2), 0x400000u);
  EXPECT_EQ(mapping.number(3), 0x410000u);
  EXPECT_EQ(text(mapping.number(5)), "/opt/app");
  EXPECT_EQ(text(mapping.number(6)), "12ab");
}

// What is mapped in pieces begins with the lowest of them, whenever that came.
TEST_F(Pprof, KnowsWhereInItsFileAModuleBegins) {
  schema::Stacks stacks;
  stacks.add_mapping({0, {0x500000, 0x510000}, 0x3000, "/opt/app", ""});
  stacks.add_mapping({0, {0x400000, 0x410000}, 0x1000, "/opt/app", ""});
  stacks.add_mapping({0, {0x450000, 0x460000}, 0x2000, "/opt/app", ""});
  stacks.add_mapping({0, {0x520000, 0x530000}, 0x4000, "/opt/app", ""});
  stacks.add_frames(0, std::vector<schema::Frame>{{0, 0x500101}});
  const Symbols symbols({{}, {"/opt/app", 0x3100, {}}}, {0, 1});
  const std::vector<StackCount> counts{{1, {.calls = 1}}};
  of(ShownStacks(stacks, symbols, {}, counts));
  const Message mapping = messages(3).at(0);
  EXPECT_EQ(mapping.number(2), 0x400000u);
  EXPECT_EQ(mapping.number(3), 0x530000u);
  EXPECT_EQ(mapping.number(4), 0x1000u);
  EXPECT_EQ(messages(3).size(), 1u);
}

TEST_F(Pprof, HasOneLocationForAllStacksOfWhichNothingIsKnown) {
  schema::Stacks stacks;
  stacks.add_frames(0, std::vector<schema::Frame>{{0, 1}, {0, 2}});  // cut at once
  const Symbols symbols({{}}, {0, 0, 0});
  of(ShownStacks(stacks, symbols, {}, {{0, {.calls = 1}}, {1, {.calls = 1}}, {2, {.calls = 1}}}));
  ASSERT_EQ(messages(2).size(), 3u);
  EXPECT_EQ(ids(4).size(), 1u);
  for (const Message& sample : messages(2)) EXPECT_EQ(packed(sample, 1), ids(4));
}

TEST_F(Pprof, HasTheProgramAsItsFirstMapping) {
  of(tests::SampleStacks());
  EXPECT_EQ(text(messages(3).at(0).number(5)), "/opt/app");
}

TEST_F(Pprof, ShowsFirstWhatIsAskedFor) {
  of(tests::SampleStacks(), StackValue::kEnd);
  EXPECT_EQ(text(profile_->number(14)), "end_bytes");
}

}  // namespace
}  // namespace heaptape::replayer
