// Sorts the rules of pieces of code into the table that recorded processes read.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "recorder/unwind/unwind_table.h"

namespace heaptape::recorder {

// Unique rules. One thread.
class RuleSet {
 public:
  static constexpr uint16_t kNoneId = 0;
  static constexpr size_t kMostRules = 1 << 16;

  // The place of `rule` in rules(); kNoneId if there are too many.
  uint16_t id(const UnwindRule& rule) {
    const uint64_t bits = bits_of(rule);
    const Recent& recent = recent_[slot(bits)];
    return recent.bits == bits ? recent.id : find(rule, bits);
  }
  std::span<const UnwindRule> rules() const { return rules_; }

 private:
  // Most rows have one of a few rules.
  static constexpr int kRecentLog2 = 10;
  struct Recent {
    uint64_t bits = 0;  // those of UnwindRule{}
    uint16_t id = kNoneId;
  };

  static uint64_t bits_of(const UnwindRule& rule);
  static size_t slot(uint64_t bits);
  uint16_t find(const UnwindRule& rule, uint64_t bits);

  std::vector<UnwindRule> rules_ = {UnwindRule{}};
  std::map<uint64_t, uint16_t> ids_;  // no hash table: files could be crafted to make it slow
  std::array<Recent, size_t{1} << kRecentLog2> recent_ = {};
};

// `rule` holds from `code` on, an offset into the segment.
struct CodeRow {
  uint32_t code = 0;
  uint16_t rule = RuleSet::kNoneId;
};

// A piece of code with some rows, the first of which begins where it does.
struct CodePiece {
  uint32_t begin = 0;
  uint32_t end = 0;  // beyond begin
  uint32_t first_row = 0;
  uint32_t row_count = 0;
};

struct BuiltTable {
  std::vector<uint64_t> memory;  // UnwindTable and what follows it
  uint32_t rows_without_rule = 0;
  uint64_t bytes_without_piece = 0;  // of code
};

// The table of a segment of `code_bytes`. `pieces` may be in any order, which changes, and overlap:
// the first to begin has the code or, if several begin together, the one with the first rows.
BuiltTable build_table(uint32_t code_bytes, std::vector<CodePiece>& pieces,
                       std::span<const CodeRow> rows, std::span<const UnwindRule> rules);

}  // namespace heaptape::recorder
