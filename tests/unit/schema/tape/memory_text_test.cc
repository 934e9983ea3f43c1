// The sum that people see of the memory of a process.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>

#include "schema/tape/tape_info.h"
#include "tests/support/seeded_random.h"

namespace heaptape::schema {
namespace {

constexpr uint64_t kMiB = 1 << 20;
using Owners = std::vector<OwnedMemory>;

std::string ten(const Owners& owners, std::optional<uint64_t> stack_bytes = {}) {
  return memory_text(110 * kMiB, 10 * kMiB, stack_bytes, owners, {});
}

TEST(MemoryText, IsAsEverWithoutOwners) {
  EXPECT_EQ(memory_text(10 * kMiB, {}, {}, {}, {}),
            "10.0 MiB anonymous, of which malloc's part is not known");
  EXPECT_EQ(ten({}), "110.0 MiB anonymous = malloc 10.0 MiB + beside malloc 100.0 MiB");
  EXPECT_EQ(ten({}, kMiB),
            "110.0 MiB anonymous = malloc 10.0 MiB + beside malloc 100.0 MiB (stacks 1.00 MiB)");
}

TEST(MemoryText, NamesOwners) {
  EXPECT_EQ(ten({{"libarrow", 60 * kMiB}, {"python3.11", 20 * kMiB}}, kMiB),
            "110.0 MiB anonymous = malloc 10.0 MiB + libarrow 60.0 MiB + python3.11 20.0 MiB + "
            "stacks 1.00 MiB + other 19.0 MiB");
}

TEST(MemoryText, NamesTheHeapsInsideOwners) {
  ProcessSample sample{0, 0, 8 * kMiB, {}, {kMiB}};
  sample.parts.owners = {{"python3.11", 7 * kMiB}};
  EXPECT_EQ(memory_text(sample, {{"/usr/bin/python3.11", {"pymalloc"}}}),
            "8.00 MiB anonymous = malloc 1.00 MiB + python3.11 (pymalloc) 7.00 MiB");
}

TEST(MemoryText, NamesOwnersOfATwentiethOfWhatIsBesideMalloc) {
  EXPECT_EQ(ten({{"large", 5 * kMiB}, {"small", 5 * kMiB - 1}}),
            "110.0 MiB anonymous = malloc 10.0 MiB + large 5.00 MiB + other 95.0 MiB");
  EXPECT_EQ(ten({{"small", kMiB}}), "110.0 MiB anonymous = malloc 10.0 MiB + other 100.0 MiB");
}

TEST(MemoryText, NamesFourOwners) {
  const std::string text =
      ten({{"a", 9 * kMiB}, {"b", 8 * kMiB}, {"c", 7 * kMiB}, {"d", 6 * kMiB}, {"e", 5 * kMiB}});
  EXPECT_NE(text.find(" + d 6.00 MiB + other 70.0 MiB"), std::string::npos) << text;
}

TEST(MemoryText, HasNoOtherMemoryWhereAllHasAName) {
  EXPECT_EQ(ten({{"libarrow", 99 * kMiB}}, kMiB),
            "110.0 MiB anonymous = malloc 10.0 MiB + libarrow 99.0 MiB + stacks 1.00 MiB");
}

TEST(MemoryText, IsThatOfASample) {
  ProcessSample sample{0, 0, 8 * kMiB, {}, {kMiB}};
  sample.parts.stack_bytes = kMiB;
  sample.parts.owners = {{"data", 6 * kMiB}};
  EXPECT_EQ(memory_text(sample, {}), memory_text(8 * kMiB, kMiB, kMiB, {{"data", 6 * kMiB}}, {}));
}

// Sizes below 1 KiB are shown to the byte.
TEST(MemoryText, AddsUp) {
  tests::SeededRandom random;
  for (int round = 0; round < 1000; ++round) {
    uint64_t rest = 1 + random.below(1000);
    const uint64_t anonymous = rest;
    const auto take = [&] {
      const uint64_t part = random.below(rest + 1);
      rest -= part;
      return part;
    };
    const uint64_t of_malloc = take();
    const auto stacks = random.chance(2) ? std::optional(take()) : std::nullopt;
    Owners owners;
    for (uint64_t i = 1 + random.below(6); i > 0; --i) {
      owners.push_back({"lib" + std::to_string(i) + ".x", take()});
    }
    std::ranges::stable_sort(owners, std::ranges::greater(), &OwnedMemory::bytes);
    const std::string text = memory_text(anonymous, of_malloc, stacks, owners, {});
    uint64_t sum = 0;
    const std::regex size(" ([0-9]+) B( \\+|$)");
    for (std::sregex_iterator at(text.begin(), text.end(), size), end; at != end; ++at) {
      sum += std::stoull((*at)[1]);
    }
    EXPECT_EQ(sum, anonymous) << text;
  }
}

}  // namespace
}  // namespace heaptape::schema
