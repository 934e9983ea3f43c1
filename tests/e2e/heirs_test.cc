// What a thread, a process or a program leaves to those that come after it: rings, slots, stack
// logs, threads' numbers. None of them may find anything of another in it.
#include <algorithm>
#include <array>
#include <compare>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "schema/tape/tape_reader.h"
#include "tests/e2e/record_fixture.h"
#include "tests/e2e/targets/heirs.h"

namespace heaptape::tests {
namespace {

// A thread's own calls, each of which follows from the one before.
struct Life {
  uint32_t pid = 0;
  uint32_t start = 0;
  uint64_t calls = 0;
  auto operator<=>(const Life&) const = default;
};

void PrintTo(const Life& life, std::ostream* out) {
  *out << life.calls << " calls from " << life.start << " of " << life.pid;
}

std::vector<Life> without(const std::vector<Life>& all, const std::vector<Life>& others) {
  std::vector<Life> rest;
  std::ranges::set_difference(all, others, std::back_inserter(rest));
  return rest;
}

bool is_own(uint64_t size) {
  return size % 2 == 1 && size >= heirs_size(0) && size <= heirs_size(kHeirsStates - 1);
}

uint32_t state_of(uint64_t size) {
  return static_cast<uint32_t>((size - heirs_size(0)) / 2);
}

// The functions on a call's stack, from the innermost out: their first letters.
std::string expected_stack(uint32_t state) {
  std::string letters = "f";
  for (uint32_t i = 0; i < heirs_turns(state); ++i) {
    letters += heirs_turns_right(state, i) != 0 ? 'r' : 'l';
  }
  return letters + 'b';
}

enum class Stacks { kNone, kOfSome, kOfAll };

struct StackOptions {
  const char* name;
  const char* mode;
  Stacks stacks;
  size_t depth = 64;
};

class RecordHeirs : public RecordTest,
                    public testing::WithParamInterface<std::tuple<const char*, StackOptions>> {
 protected:
  // What the program says of itself.
  void read_words(const std::string& text) {
    std::istringstream in(text);
    for (std::string what; in >> what;) {
      if (what == "life") {
        Life& life = said_.emplace_back();
        in >> life.pid >> life.start >> life.calls;
      } else {
        for (uint64_t& function : functions_) in >> function;
      }
    }
  }
  // Notes the lives on a tape, and looks at their stacks.
  void read_lives(const std::string& path) {
    auto tape =
        schema::TapeReader::open(path, schema::OnDamage::kStop, schema::Inherited::kLeaveOut);
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    auto stacks = tape->read_stacks();
    ASSERT_TRUE(stacks.ok()) << stacks.error().message;
    std::map<uint32_t, Life> lives;  // by thread
    std::map<uint32_t, uint32_t> next;
    schema::EventBatch batch;
    do {
      ASSERT_TRUE(tape->read(batch, 10'000).ok());
      for (size_t i = 0; i < batch.events.size(); ++i) {
        const schema::Event& event = batch.events[i];
        if (event.op != schema::Op::kMalloc || !is_own(event.size)) continue;
        const uint32_t state = state_of(event.size);
        Life& life = lives[event.thread];
        if (life.calls++ == 0) {
          life.pid = tape->header().pid;
          life.start = state;
        } else {
          ASSERT_EQ(state, next[event.thread]) << "after " << life.calls << " calls";
        }
        next[event.thread] = heirs_next(state);
        check_stack(*stacks, batch.stacks.empty() ? 0 : batch.stacks[i], state);
      }
    } while (!batch.events.empty());
    for (const auto& [thread, life] : lives) found_.push_back(life);
  }
  void check_stack(const schema::Stacks& stacks, schema::FrameNumber number, uint32_t state) {
    const StackOptions& options = std::get<1>(GetParam());
    ASSERT_TRUE(number != 0 || options.stacks != Stacks::kOfAll) << state;
    if (number == 0) return;
    ASSERT_NE(options.stacks, Stacks::kNone);
    ++stacks_;
    const std::string expected = expected_stack(state).substr(0, options.depth);
    std::string letters;
    for (const schema::Frame* frame = stacks.find(number);
         frame != nullptr && letters.size() < expected.size(); frame = stacks.find(frame->caller)) {
      letters += letter_of(frame->return_address);
    }
    ASSERT_EQ(letters, expected) << state;
  }
  char letter_of(uint64_t address) const {
    size_t nearest = functions_.size();
    for (size_t i = 0; i < functions_.size(); ++i) {
      if (functions_[i] > address) continue;
      if (nearest == functions_.size() || functions_[i] > functions_[nearest]) nearest = i;
    }
    return nearest == functions_.size() ? '?' : "flrb"[nearest];
  }
  // The tape is of a possible heap, and lacks nothing.
  void expect_sound(const std::string& path) {
    EXPECT_TRUE(verifies(path));
    const Tape tape = read_tape(path);
    EXPECT_EQ(tape.summary.losses.lost_events, 0u);
    const HeapWalk walk = walk_heap(tape.events);
    EXPECT_EQ(walk.doubly_given, 0u);
    const bool has_parents_blocks = path != tape_path();
    EXPECT_TRUE(has_parents_blocks || walk.unknown_frees == 0) << walk.unknown_frees;
  }

  std::vector<Life> said_;
  std::vector<Life> found_;
  uint64_t stacks_ = 0;
  std::array<uint64_t, 4> functions_{};  // leaf, left, right, begin
};

TEST_P(RecordHeirs, FindNothingOfThoseBeforeThem) {
  const auto& [mode, options] = GetParam();
  const Ended ended = record({target_path("heirs"), mode}, {"--stacks", options.mode});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  read_words(ended.out);
  for (const auto& process : manifest().processes) {
    SCOPED_TRACE(process.tape);
    expect_sound(dir_.file(process.tape));
    read_lives(dir_.file(process.tape));
  }
  std::ranges::sort(said_);
  std::ranges::sort(found_);
  EXPECT_EQ(without(found_, said_), std::vector<Life>()) << "that nobody lived";
  EXPECT_EQ(without(said_, found_), std::vector<Life>()) << "on no tape";
  EXPECT_GT(said_.size(), 0u);
  EXPECT_EQ(stacks_ != 0, options.stacks != Stacks::kNone);
}

INSTANTIATE_TEST_SUITE_P(
    , RecordHeirs,
    testing::Combine(
        testing::Values("relay", "overlap", "forks", "inherit", "fork-in-handler", "borrow",
                        "replace", "replace-from-thread", "outlive-first", "interleave"),
        testing::Values(StackOptions{"None", "none", Stacks::kNone},
                        StackOptions{"Dwarf", "dwarf", Stacks::kOfAll},
                        StackOptions{"Fp", "fp", Stacks::kOfAll},
                        StackOptions{"FpCut", "fp,depth=5", Stacks::kOfAll, 5},
                        StackOptions{"Sampled", "dwarf,every=16KiB", Stacks::kOfSome})),
    [](const auto& info) {
      std::string name = std::get<0>(info.param);
      std::ranges::replace(name, '-', '_');
      return name + std::get<1>(info.param).name;
    });

}  // namespace
}  // namespace heaptape::tests
