#include "recorder/unwind/table_builder.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace heaptape::recorder {
namespace {

constexpr uint64_t kPageBytes = uint64_t{1} << kUnwindPageLog2;

// The rows of a table while it grows: no two neighbors have the same rule.
class Rows {
 public:
  explicit Rows(size_t most) {
    code_.reserve(most);
    rule_.reserve(most);
  }

  void put(uint32_t code, uint16_t rule) {
    if (!rule_.empty() && rule_.back() == rule) return;
    code_.push_back(code);
    rule_.push_back(rule);
  }
  // Adds the rows of `piece` from `begin` on.
  void put_piece(const CodePiece& piece, uint32_t begin, std::span<const CodeRow> rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint32_t end = i + 1 < rows.size() ? rows[i + 1].code : piece.end;
      if (end > begin) put(std::max(begin, rows[i].code), rows[i].rule);
    }
  }
  std::span<const uint32_t> code() const { return code_; }
  std::span<const uint16_t> rule() const { return rule_; }

 private:
  std::vector<uint32_t> code_;
  std::vector<uint16_t> rule_;
};

std::vector<uint32_t> first_rows(std::span<const uint32_t> code, uint32_t pages) {
  std::vector<uint32_t> result(size_t{pages} + 1);
  uint32_t row = 0;
  for (uint64_t page = 0; page <= pages; ++page) {
    while (row + 1 < code.size() && code[row + 1] <= page * kPageBytes) ++row;
    result[page] = row;
  }
  return result;
}

template <typename Part>
char* append(char* to, Part part) {
  if (!part.empty()) std::memcpy(to, part.data(), part.size_bytes());
  return to + part.size_bytes();
}

std::vector<uint64_t> assemble(uint32_t pages, const Rows& rows,
                               std::span<const UnwindRule> rules) {
  const std::vector<uint32_t> index = first_rows(rows.code(), pages);
  const size_t bytes = sizeof(UnwindTable) + rules.size_bytes() + std::span(index).size_bytes() +
                       rows.code().size_bytes() + rows.rule().size_bytes();
  std::vector<uint64_t> memory((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  const UnwindTable table{static_cast<uint32_t>(rows.code().size()), pages,
                          static_cast<uint32_t>(rules.size()),
                          static_cast<uint32_t>(memory.size() * sizeof(uint64_t))};
  char* to = reinterpret_cast<char*>(memory.data());
  to = append(to, std::span(&table, 1));
  to = append(to, rules);
  to = append(to, std::span(index));
  to = append(to, rows.code());
  append(to, rows.rule());
  return memory;
}

bool comes_before(const CodePiece& a, const CodePiece& b) {
  return std::tie(a.begin, a.first_row) < std::tie(b.begin, b.first_row);
}

}  // namespace

uint64_t RuleSet::bits_of(const UnwindRule& rule) {
  uint64_t bits = 0;
  std::memcpy(&bits, &rule, sizeof bits);
  return bits;
}

size_t RuleSet::slot(uint64_t bits) {
  constexpr uint64_t kOddBits = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: mixes well upwards
  return (bits * kOddBits) >> (64 - kRecentLog2);
}

uint16_t RuleSet::find(const UnwindRule& rule, uint64_t bits) {
  const auto found = ids_.find(bits);
  uint16_t id = kNoneId;
  if (found != ids_.end()) {
    id = found->second;
  } else if (rules_.size() < kMostRules) {
    id = static_cast<uint16_t>(rules_.size());
    rules_.push_back(rule);
    ids_.emplace(bits, id);
  }
  recent_[slot(bits)] = {bits, id};
  return id;
}

BuiltTable build_table(uint32_t code_bytes, std::vector<CodePiece>& pieces,
                       std::span<const CodeRow> rows, std::span<const UnwindRule> rules) {
  std::ranges::sort(pieces, comes_before);
  BuiltTable result;
  size_t most_rows = 1;
  for (const CodePiece& piece : pieces) most_rows += piece.row_count + size_t{1};
  Rows table(most_rows);
  uint32_t covered = 0;
  for (const CodePiece& piece : pieces) {
    if (piece.end <= covered) continue;
    if (piece.begin > covered) {
      table.put(covered, RuleSet::kNoneId);
      result.bytes_without_piece += piece.begin - covered;
    }
    table.put_piece(piece, std::max(covered, piece.begin),
                    rows.subspan(piece.first_row, piece.row_count));
    covered = piece.end;
  }
  result.bytes_without_piece += code_bytes - covered;
  const uint64_t pages = (code_bytes + kPageBytes - 1) / kPageBytes;
  if (covered < pages * kPageBytes || pages == 0) table.put(covered, RuleSet::kNoneId);
  result.rows_without_rule = static_cast<uint32_t>(std::ranges::count_if(
      table.rule(), [rules](uint16_t rule) { return rules[rule].cfa == CfaRule::kNone; }));
  result.memory = assemble(static_cast<uint32_t>(pages), table, rules);
  return result;
}

}  // namespace heaptape::recorder
