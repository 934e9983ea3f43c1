#include "recorder/collector/proc_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <latch>

#include "tests/support/command.h"

namespace heaptape::recorder {
namespace {

std::optional<ProcTexts> read_texts(uint32_t pid) {
  return read_proc_texts(pid, nullptr);
}

TEST(ProcReader, AnswersWhatIsAsked) {
  ProcReader reader(read_texts);
  const auto here = reader.ask(static_cast<uint32_t>(getpid()));
  const auto nowhere = reader.ask(0x7fffffff);
  ASSERT_TRUE(tests::wait_until([&] { return here->done && nowhere->done; }));
  ASSERT_TRUE(here->texts);
  EXPECT_NE(here->texts->maps.find("[stack]"), std::string::npos);
  EXPECT_FALSE(nowhere->texts);
}

// Of a process that has its address space locked.
TEST(ProcReader, KeepsNobodyWaitingWhileItWaits) {
  std::latch unlocked(1);
  ProcReader reader([&unlocked](uint32_t) {
    unlocked.wait();
    return std::optional(ProcTexts{"statm", "maps", {}});
  });
  const auto first = reader.ask(1);
  const auto second = reader.ask(2);
  EXPECT_FALSE(first->done);
  EXPECT_FALSE(second->done);
  unlocked.count_down();
  EXPECT_TRUE(tests::wait_until([&] { return first->done && second->done; }));
}

TEST(ProcReader, EndsWithQuestionsUnanswered) {
  ProcReader reader(read_texts);
  for (int i = 0; i < 1000; ++i) reader.ask(static_cast<uint32_t>(getpid()));
}

}  // namespace
}  // namespace heaptape::recorder
