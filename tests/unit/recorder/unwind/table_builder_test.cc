#include "recorder/unwind/table_builder.h"

#include <gtest/gtest.h>

namespace heaptape::recorder {
namespace {

constexpr uint32_t kPage = 1 << kUnwindPageLog2;

UnwindRule rule_at(int32_t offset) {
  return {CfaRule::kStack, FrameRule::kSame, 0, offset};
}

TEST(RuleSet, HasEachRuleOnce) {
  RuleSet rules;
  EXPECT_EQ(rules.id({}), RuleSet::kNoneId);
  const uint16_t first = rules.id(rule_at(8));
  const uint16_t second = rules.id(rule_at(16));
  EXPECT_NE(first, second);
  EXPECT_EQ(rules.id(rule_at(8)), first);
  ASSERT_EQ(rules.rules().size(), 3u);
  EXPECT_EQ(rules.rules()[first], rule_at(8));
}

TEST(RuleSet, HasNoIdsForMoreThanItHolds) {
  RuleSet rules;
  for (uint32_t i = 1; i < RuleSet::kMostRules; ++i) {
    EXPECT_EQ(rules.id(rule_at(static_cast<int32_t>(i))), i);
  }
  EXPECT_EQ(rules.id(rule_at(-1)), RuleSet::kNoneId);
  EXPECT_EQ(rules.id(rule_at(-1)), RuleSet::kNoneId);
  EXPECT_EQ(rules.id(rule_at(1)), 1u);
  EXPECT_EQ(rules.rules().size(), RuleSet::kMostRules);
}

// Rules are named by their offsets: 0 stands for none.
class Tables : public testing::Test {
 protected:
  // From each offset of code on, a rule.
  void piece(uint32_t begin, uint32_t end, std::initializer_list<std::pair<uint32_t, int>> rows) {
    pieces_.push_back(
        {begin, end, static_cast<uint32_t>(rows_.size()), static_cast<uint32_t>(rows.size())});
    for (const auto& [code, rule] : rows) {
      rows_.push_back({code, rule == 0 ? RuleSet::kNoneId : rules_.id(rule_at(rule))});
    }
  }
  void build(uint32_t code_bytes) {
    built_ = build_table(code_bytes, pieces_, rows_, rules_.rules());
  }
  const UnwindTable& table() const {
    return *reinterpret_cast<const UnwindTable*>(built_.memory.data());
  }
  int rule(uint64_t offset) const { return find_rule(table(), offset).cfa_offset; }

  RuleSet rules_;
  std::vector<CodeRow> rows_;
  std::vector<CodePiece> pieces_;
  BuiltTable built_;
};

TEST_F(Tables, FindTheRuleOfEachRow) {
  piece(0x10, 0x30, {{0x10, 8}, {0x18, 16}, {0x2f, 24}});
  build(kPage);
  EXPECT_EQ(rule(0x10), 8);
  EXPECT_EQ(rule(0x17), 8);
  EXPECT_EQ(rule(0x18), 16);
  EXPECT_EQ(rule(0x2e), 16);
  EXPECT_EQ(rule(0x2f), 24);
}

TEST_F(Tables, HaveNoRuleForWhatIsBetweenPieces) {
  piece(0x10, 0x20, {{0x10, 8}});
  piece(0x28, 0x30, {{0x28, 16}});
  build(0x100);
  for (const uint32_t offset : {0, 0xf, 0x20, 0x27, 0x30, 0xff, 0x100, 0xfff}) {
    EXPECT_EQ(find_rule(table(), offset), UnwindRule{}) << offset;
  }
  EXPECT_EQ(rule(0x1f), 8);
  EXPECT_EQ(rule(0x28), 16);
  EXPECT_EQ(built_.bytes_without_piece, 0x100u - 0x18u);
  EXPECT_EQ(built_.rows_without_rule, 3u);
}

TEST_F(Tables, HaveNoRuleBeyondTheirEnd) {
  piece(0, kPage, {{0, 8}});
  build(kPage);
  EXPECT_EQ(rule(kPage - 1), 8);
  for (const uint64_t offset : {uint64_t{kPage}, uint64_t{kPage} + 1, ~uint64_t{0}}) {
    EXPECT_EQ(find_rule(table(), offset), UnwindRule{});
  }
}

TEST_F(Tables, MayBeOfNoCode) {
  build(0);
  EXPECT_EQ(table().pages, 0u);
  EXPECT_EQ(find_rule(table(), 0), UnwindRule{});
  build(1);
  EXPECT_EQ(find_rule(table(), 0), UnwindRule{});
}

TEST_F(Tables, FindRowsAtTheEdgesOfPages) {
  piece(kPage - 1, 3 * kPage,
        {{kPage - 1, 8}, {kPage, 16}, {2 * kPage - 1, 24}, {2 * kPage + 1, 32}});
  build(4 * kPage);
  EXPECT_EQ(rule(kPage - 2), 0);
  EXPECT_EQ(rule(kPage - 1), 8);
  EXPECT_EQ(rule(kPage), 16);
  EXPECT_EQ(rule(2 * kPage - 2), 16);
  EXPECT_EQ(rule(2 * kPage - 1), 24);
  EXPECT_EQ(rule(2 * kPage), 24);
  EXPECT_EQ(rule(2 * kPage + 1), 32);
  EXPECT_EQ(rule(3 * kPage - 1), 32);
  EXPECT_EQ(rule(3 * kPage), 0);
}

TEST_F(Tables, FindARowThatHasManyPages) {
  piece(5, 100 * kPage, {{5, 8}, {99 * kPage + 7, 16}});
  build(100 * kPage);
  for (const uint32_t page : {1, 2, 50, 98, 99}) EXPECT_EQ(rule(page * kPage), 8) << page;
  EXPECT_EQ(rule(99 * kPage + 7), 16);
}

TEST_F(Tables, PutPiecesInOrder) {
  piece(0x20, 0x30, {{0x20, 16}});
  piece(0x10, 0x20, {{0x10, 8}});
  build(0x30);
  EXPECT_EQ(rule(0x10), 8);
  EXPECT_EQ(rule(0x20), 16);
}

TEST_F(Tables, GiveCodeThatIsDescribedTwiceToWhatBeginsFirst) {
  piece(0x18, 0x30, {{0x18, 16}, {0x24, 24}, {0x28, 32}});
  piece(0x10, 0x26, {{0x10, 8}});
  piece(0x12, 0x14, {{0x12, 40}});
  build(0x40);
  EXPECT_EQ(rule(0x13), 8);
  EXPECT_EQ(rule(0x25), 8);
  EXPECT_EQ(rule(0x26), 24);
  EXPECT_EQ(rule(0x28), 32);
  EXPECT_EQ(rule(0x30), 0);
}

TEST_F(Tables, GiveCodeThatIsDescribedTwiceFromTheSameByteToTheFirst) {
  piece(0x10, 0x20, {{0x10, 8}});
  piece(0x10, 0x30, {{0x10, 16}});
  build(0x30);
  EXPECT_EQ(rule(0x1f), 8);
  EXPECT_EQ(rule(0x20), 16);
}

TEST_F(Tables, MergeNeighboursWithOneRule) {
  piece(0, 0x10, {{0, 8}, {4, 0}});
  piece(0x18, 0x20, {{0x18, 0}, {0x1c, 8}});
  piece(0x20, kPage, {{0x20, 8}});
  build(kPage);
  EXPECT_EQ(table().rows, 3u);
  EXPECT_EQ(rule(0), 8);
  EXPECT_EQ(rule(4), 0);
  EXPECT_EQ(rule(0x1c), 8);
}

TEST_F(Tables, SayHowLargeTheyAre) {
  piece(0, 0x10, {{0, 8}});
  build(2 * kPage);
  EXPECT_EQ(table().pages, 2u);
  EXPECT_EQ(table().rules, 2u);
  EXPECT_EQ(table().bytes, built_.memory.size() * 8);
  // Head, two rules, three entries for pages, two rows: 16 + 16 + 12 + 8 + 4.
  EXPECT_EQ(table().bytes, 56u);
}

}  // namespace
}  // namespace heaptape::recorder
