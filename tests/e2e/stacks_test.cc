// heaptape record --stacks, on programs whose stacks are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using schema::Frame;
using schema::FrameNumber;

// What the tape has of one program.
class KnownStacks : public testing::Test {
 protected:
  void record(const std::string& mode) {
    const std::string path = dir_.file("a.tape");
    const auto ended = tests::run({"heaptape", "record", "--force", "--stacks", mode, "-o", path,
                                   "--", tests::target_path("known_stacks")});
    ASSERT_EQ(ended.status, 0) << ended.describe();
    std::istringstream lines(ended.out);
    std::string name;
    for (uint64_t address = 0; lines >> name >> std::hex >> address;) functions_[address] = name;
    auto tape = schema::TapeReader::open(path);
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    auto stacks = tape->read_stacks();
    ASSERT_TRUE(stacks.ok()) << stacks.error().message;
    stacks_ = std::move(*stacks);
    schema::EventBatch batch;
    do {
      ASSERT_TRUE(tape->read(batch, 1000).ok());
      events_.insert(events_.end(), batch.events.begin(), batch.events.end());
      numbers_.insert(numbers_.end(), batch.stacks.begin(), batch.stacks.end());
    } while (!batch.events.empty());
  }
  // The functions of the program on the stack of the n-th call that asked for so many bytes, from
  // the innermost on.
  std::string stack_of(uint64_t size, size_t n = 0) const {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      if (events_[i].size == size && events_[i].address != 0 && n-- == 0) return text(numbers_[i]);
    }
    return "none";
  }
  // The number of its frames; 0 if there is no such call.
  size_t depth_of(uint64_t size) const {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      if (events_[i].size == size) return addresses(numbers_[i]).size();
    }
    return 0;
  }
  std::vector<uint64_t> addresses(FrameNumber number) const {
    std::vector<uint64_t> addresses;
    for (const Frame* frame = stacks_.find(number); frame != nullptr;
         frame = stacks_.find(frame->caller)) {
      addresses.push_back(frame->return_address);
    }
    return addresses;
  }
  bool is_in_program(uint64_t address) const {
    return std::ranges::any_of(stacks_.mappings(), [address](const schema::CodeMapping& mapping) {
      return address >= mapping.range.begin && address < mapping.range.end &&
             mapping.path.ends_with("/known_stacks");
    });
  }
  std::string text(FrameNumber number) const {
    std::string text;
    for (const uint64_t address : addresses(number)) {
      if (!is_in_program(address)) continue;
      const auto behind = functions_.upper_bound(address);
      if (behind != functions_.begin()) text += std::prev(behind)->second + " ";
    }
    return text;
  }

  tests::TempDir dir_;
  std::map<uint64_t, std::string> functions_;  // by where they begin
  std::vector<schema::Event> events_;
  std::vector<FrameNumber> numbers_;  // by event
  schema::Stacks stacks_;
};

TEST_F(KnownStacks, AreThoseOfFramePointers) {
  record("fp");
  for (size_t round = 0; round < 3; ++round) {
    EXPECT_EQ(stack_of(1000, round), "leaf middle outer main ") << round;
    EXPECT_EQ(stack_of(1001, round), "leaf outer main ") << round;
    EXPECT_EQ(stack_of(2000, round), "leaf middle other main ") << round;
    EXPECT_EQ(stack_of(2001, round), "leaf other main ") << round;
  }
}

TEST_F(KnownStacks, AreThoseOfEveryThread) {
  record("fp");
  EXPECT_EQ(stack_of(4000), "leaf middle outer in_thread ");
  EXPECT_EQ(stack_of(4001), "leaf outer in_thread ");
}

TEST_F(KnownStacks, AreThoseOfResizesAndClearedBlocks) {
  record("fp");
  EXPECT_EQ(stack_of(5000), "resizing main ");
  EXPECT_EQ(stack_of(8), "resizing main ");
}

TEST_F(KnownStacks, AreCutAtTheirLimit) {
  record("fp,depth=10");
  EXPECT_EQ(depth_of(3000), 11u);  // with the mark that it was cut
  EXPECT_EQ(stack_of(3000), "leaf deep deep deep deep deep deep deep deep deep ");
  EXPECT_EQ(stack_of(1000), "leaf middle outer main ");
}

TEST_F(KnownStacks, AreLeftOutUnlessAskedFor) {
  record("none");
  EXPECT_TRUE(numbers_.empty());
  EXPECT_TRUE(stacks_.mappings().empty());
}

}  // namespace
}  // namespace heaptape
