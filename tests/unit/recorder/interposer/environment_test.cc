// What an environment holds once what is ours is taken out of it.
#include "recorder/interposer/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heaptape::recorder {
namespace {

using Entries = std::vector<std::string>;

Entries stripped(Entries entries) {
  std::vector<char*> words;
  for (std::string& entry : entries) words.push_back(entry.data());
  words.push_back(nullptr);
  const StrippedEnvironment environment(words.data());
  std::vector<char> memory(environment.bytes());
  Entries kept;
  for (char** entry = environment.write(memory.data()); *entry != nullptr; ++entry) {
    kept.emplace_back(*entry);
  }
  return kept;
}

TEST(StrippedEnvironment, HoldsNothingOfOurs) {
  const Entries kept = stripped(
      {"A=1", "HEAPTAPE_SESSION=name:token", "LD_PRELOAD=/lib/libheaptape-interposer.so", "B=2"});
  EXPECT_EQ(kept, (Entries{"A=1", "B=2"}));
}

TEST(StrippedEnvironment, KeepsVariablesWhoseNamesBeginLikeOurs) {
  const Entries entries = {"HEAPTAPE_SESSION_NAME=x", "LD_PRELOAD_32=libheaptape-interposer.so"};
  EXPECT_EQ(stripped(entries), entries);
}

TEST(StrippedEnvironment, KeepsTheOtherLibrariesAndOneSeparatorBetweenThem) {
  const std::string ours = "/lib/libheaptape-interposer.so";
  for (const std::string& preload : {ours + ":a.so:b.so", "a.so:" + ours + ":b.so",
                                     "a.so:b.so:" + ours, ours + ":a.so:b.so:" + ours}) {
    EXPECT_EQ(stripped({"LD_PRELOAD=" + preload}), Entries{"LD_PRELOAD=a.so:b.so"}) << preload;
  }
}

}  // namespace
}  // namespace heaptape::recorder
