#include "recorder/collector/proc_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "base/clock.h"
#include "recorder/collector/session_memory.h"
#include "tests/support/command.h"

namespace heaptape::recorder {
namespace {

std::optional<ProcTexts> read_texts(uint32_t pid, WithPages with_pages) {
  return read_proc_texts(pid, nullptr, with_pages);
}

TEST(ProcReader, AnswersWhatIsAsked) {
  ProcReader reader(read_texts);
  const auto here = reader.ask({static_cast<uint32_t>(getpid()), WithPages::kNo});
  const auto paged = reader.ask({static_cast<uint32_t>(getpid()), WithPages::kYes});
  const auto nowhere = reader.ask({0x7fffffff, WithPages::kYes});
  ASSERT_TRUE(tests::wait_until([&] { return here->done && paged->done && nowhere->done; }));
  ASSERT_TRUE(here->texts);
  EXPECT_NE(here->texts->maps.find("[stack]"), std::string::npos);
  EXPECT_FALSE(here->texts->resident);
  ASSERT_TRUE(paged->texts);
  EXPECT_TRUE(paged->texts->resident);
  EXPECT_FALSE(nowhere->texts);
}

TEST(ProcReader, TellsWhetherTheProcessHasTheSession) {
  ProcReader reader(read_texts);
  const auto memory = SessionMemory::create({});
  ASSERT_TRUE(memory.ok());
  tests::Command other({.words = {"sh", "-c", "echo ready; sleep 30 & wait"}});
  ASSERT_TRUE(other.wait_for_output("ready"));
  const auto here = reader.ask({static_cast<uint32_t>(getpid()), WithPages::kNo});
  const auto there = reader.ask({static_cast<uint32_t>(other.pid()), WithPages::kNo});
  ASSERT_TRUE(tests::wait_until([&] { return here->done && there->done; }));
  ASSERT_TRUE(here->texts);
  ASSERT_TRUE(there->texts);
  EXPECT_TRUE(here->texts->has_session);
  EXPECT_FALSE(there->texts->has_session);
  EXPECT_EQ(there->texts->title, "sh -c echo ready; sleep 30 & wait");
}

// Tables are made once, so their time says nothing of the next sample; waiting takes no processor.
TEST(ProcReader, TakesTheProcessorTimeOfTablesOffItsOwn) {
  ProcessCode code;
  ProcReader reader([&code](uint32_t, WithPages) {
    const uint64_t begin_ns = base::thread_cpu_ns();
    while (base::thread_cpu_ns() - begin_ns < base::kMillisecondNs) {
    }
    return std::optional(ProcTexts{"status", "maps", code});
  });
  const auto took_ns = [&reader] {
    const auto reading = reader.ask({1, WithPages::kNo});
    EXPECT_TRUE(tests::wait_until([&] { return reading->done.load(); }));
    return reading->took_ns;
  };
  code.made_ns = UINT64_MAX;
  EXPECT_GE(took_ns(), base::kMillisecondNs);
  code.cpu_ns = UINT64_MAX;
  EXPECT_EQ(took_ns(), 0u);
}

// Of a process that has its address space locked.
TEST(ProcReader, KeepsNobodyWaitingWhileItWaits) {
  std::latch unlocked(1);
  ProcReader reader([&unlocked](uint32_t, WithPages) {
    unlocked.wait();
    return std::optional(ProcTexts{"status", "maps"});
  });
  const auto first = reader.ask({1, WithPages::kNo});
  const auto second = reader.ask({2, WithPages::kNo});
  EXPECT_FALSE(first->done);
  EXPECT_FALSE(second->done);
  unlocked.count_down();
  EXPECT_TRUE(tests::wait_until([&] { return first->done && second->done; }));
}

// What samples cost decides when the next one is taken.
TEST(ProcReader, DoesNotCountWhatItWaited) {
  constexpr std::chrono::milliseconds kWait(200);
  ProcReader reader([&](uint32_t, WithPages) {
    std::this_thread::sleep_for(kWait);
    return std::optional(ProcTexts{"status", "maps"});
  });
  const auto reading = reader.ask({1, WithPages::kNo});
  ASSERT_TRUE(tests::wait_until([&] { return reading->done.load(); }));
  EXPECT_LT(reading->took_ns, std::chrono::nanoseconds(kWait).count() / 2);
}

// It may take long: the answer is there before.
TEST(ProcReader, HandsOnWhatItAnswered) {
  std::latch answered(1);
  std::atomic<uint32_t> seen = 0;
  ProcReader reader(read_texts, [&](const ProcReading& reading) {
    answered.wait();
    if (!reading.texts->maps.empty()) seen = reading.asked.pid;
  });
  const auto nowhere = reader.ask({0x7fffffff, WithPages::kNo});
  const auto here = reader.ask({static_cast<uint32_t>(getpid()), WithPages::kNo});
  ASSERT_TRUE(tests::wait_until([&] { return here->done && nowhere->done; }));
  EXPECT_EQ(seen, 0u);
  answered.count_down();
  EXPECT_TRUE(tests::wait_until([&seen] { return seen == static_cast<uint32_t>(getpid()); }));
}

TEST(ProcReader, EndsWithQuestionsUnanswered) {
  ProcReader reader(read_texts);
  for (int i = 0; i < 1000; ++i) reader.ask({static_cast<uint32_t>(getpid()), WithPages::kYes});
}

}  // namespace
}  // namespace heaptape::recorder
