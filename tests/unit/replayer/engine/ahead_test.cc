#include "replayer/engine/ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>

namespace heaptape::replayer {
namespace {

using base::Result;

TEST(Ahead, GivesWhatWasMadeInItsOrder) {
  int made = 0;
  Ahead<int> numbers({.items = 3, .kept = 1}, [&](int& number) -> Result<bool> {
    number = made;
    return made++ < 1000;
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(**numbers.next(), i);
  EXPECT_EQ(*numbers.next(), nullptr);
  EXPECT_EQ(*numbers.next(), nullptr);
}

TEST(Ahead, KeepsTheLastThatWereTaken) {
  int made = 0;
  Ahead<int> numbers({.items = 4, .kept = 2}, [&](int& number) -> Result<bool> {
    number = made++;
    return true;
  });
  const int* before = *numbers.next();
  for (int i = 1; i < 2000; ++i) {
    const int* const now = *numbers.next();
    ASSERT_EQ(*before, i - 1);
    before = now;
  }
}

TEST(Ahead, MakesNoMoreThanThereIsRoomFor) {
  std::atomic<int> made = 0;
  {
    Ahead<int> numbers({.items = 3, .kept = 1}, [&](int&) -> Result<bool> {
      ++made;
      return true;
    });
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(numbers.next().ok());
  }
  EXPECT_GE(made, 5);
  EXPECT_LE(made, 5 - 1 + 3);
}

TEST(Ahead, GivesAnErrorBehindWhatWasMadeBeforeIt) {
  int made = 0;
  Ahead<int> numbers({.items = 3, .kept = 1}, [&](int& number) -> Result<bool> {
    number = ++made;
    if (made == 3) return base::Error::damaged("here");
    return true;
  });
  EXPECT_EQ(**numbers.next(), 1);
  EXPECT_EQ(**numbers.next(), 2);
  EXPECT_EQ(numbers.next().error().message, "here");
}

TEST(Ahead, ThrowsWhatTheOtherThreadThrew) {
  Ahead<int> numbers({.items = 3, .kept = 1}, [](int&) -> Result<bool> { throw std::bad_alloc(); });
  EXPECT_THROW((void)numbers.next(), std::bad_alloc);
}

TEST(Ahead, MayGoBeforeAllIsTaken) {
  const Ahead<int> numbers({.items = 3, .kept = 1}, [](int&) -> Result<bool> { return true; });
}

}  // namespace
}  // namespace heaptape::replayer
