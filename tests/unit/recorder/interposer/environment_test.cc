// What an environment holds once what is ours is taken out of it.
#include "recorder/interposer/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heaptape::recorder {
namespace {

using Entries = std::vector<std::string>;

Entries rewritten(Entries entries, Ours ours) {
  std::vector<char*> words;
  for (std::string& entry : entries) words.push_back(entry.data());
  words.push_back(nullptr);
  const RewrittenEnvironment environment(words.data(), ours);
  std::vector<char> memory(environment.bytes());
  Entries kept;
  for (char** entry = environment.write(memory.data()); *entry != nullptr; ++entry) {
    kept.emplace_back(*entry);
  }
  return kept;
}

Entries stripped(Entries entries) {
  return rewritten(std::move(entries), Ours::kOut);
}

TEST(RewrittenEnvironment, HoldsNothingOfOurs) {
  const Entries kept = stripped(
      {"A=1", "HEAPTAPE_SESSION=name:token", "LD_PRELOAD=/lib/libheaptape-interposer.so", "B=2"});
  EXPECT_EQ(kept, (Entries{"A=1", "B=2"}));
}

TEST(RewrittenEnvironment, KeepsVariablesWhoseNamesBeginLikeOurs) {
  const Entries entries = {"HEAPTAPE_SESSION_NAME=x", "LD_PRELOAD_32=libheaptape-interposer.so"};
  EXPECT_EQ(stripped(entries), entries);
}

TEST(RewrittenEnvironment, KeepsTheOtherLibrariesAndOneSeparatorBetweenThem) {
  const std::string ours = "/lib/libheaptape-interposer.so";
  for (const std::string& preload : {ours + ":a.so:b.so", "a.so:" + ours + ":b.so",
                                     "a.so:b.so:" + ours, ours + ":a.so:b.so:" + ours}) {
    EXPECT_EQ(stripped({"LD_PRELOAD=" + preload}), Entries{"LD_PRELOAD=a.so:b.so"}) << preload;
  }
}

TEST(RewrittenEnvironment, HasOurLibraryFirstAndTheOthersInTheirOrder) {
  const std::string ours = "/lib/libheaptape-interposer.so";
  for (const std::string& preload : {"a.so:b.so:" + ours, "a.so " + ours + " b.so"}) {
    const Entries kept =
        rewritten({"HEAPTAPE_SESSION=n:t", "LD_PRELOAD=" + preload, "B=2"}, Ours::kFirst);
    ASSERT_EQ(kept.size(), 3u);
    EXPECT_EQ(kept[0], "HEAPTAPE_SESSION=n:t");
    EXPECT_EQ(kept[1].substr(0, 12 + ours.size() + 4), "LD_PRELOAD=" + ours + ":a.so") << preload;
    EXPECT_EQ(kept[2], "B=2");
  }
}

}  // namespace
}  // namespace heaptape::recorder
