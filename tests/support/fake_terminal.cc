#include "tests/support/fake_terminal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace heaptape::tests {
namespace {

std::string trimmed(const std::string& row) {
  return row.substr(0, row.find_last_not_of(' ') + 1);
}

}  // namespace

FakeTerminal::FakeTerminal(int rows, int columns)
    : rows_(rows),
      columns_(columns),
      bottom_(rows - 1),
      cells_(static_cast<size_t>(rows), std::string(static_cast<size_t>(columns), ' ')) {}

std::vector<std::string> FakeTerminal::screen() const {
  std::vector<std::string> rows;
  for (const std::string& row : cells_) rows.push_back(trimmed(row));
  return rows;
}

void FakeTerminal::write(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    if (bytes[at] == '\033') {
      at = run_sequence(bytes, at + 1);
    } else {
      put(bytes[at++]);
    }
  }
}

void FakeTerminal::put(char c) {
  if (c == '\r') {
    column_ = 0;
  } else if (c == '\n') {
    line_down();
  } else {
    if (column_ == columns_) {
      column_ = 0;
      line_down();
    }
    cells_[static_cast<size_t>(row_)][static_cast<size_t>(column_++)] = c;
  }
}

void FakeTerminal::line_down() {
  if (row_ != bottom_) {
    row_ = std::min(row_ + 1, rows_ - 1);
    return;
  }
  scrolled_off_.push_back(trimmed(cells_.front()));
  cells_.erase(cells_.begin());
  cells_.insert(cells_.begin() + bottom_, std::string(static_cast<size_t>(columns_), ' '));
}

// Returns where the sequence ends.
size_t FakeTerminal::run_sequence(const std::string& bytes, size_t at) {
  const char kind = bytes.at(at++);
  if (kind == '7') {
    saved_row_ = row_;
    saved_column_ = column_;
  } else if (kind == '8') {
    row_ = saved_row_;
    column_ = saved_column_;
  } else if (kind == 'D') {
    line_down();
  } else if (kind == '[') {
    const size_t end = bytes.find_first_not_of("0123456789;", at);
    control(bytes.substr(at, end - at), bytes.at(end));
    return end + 1;
  } else {
    ADD_FAILURE() << "ESC " << kind;
  }
  return at;
}

void FakeTerminal::control(const std::string& numbers, char verb) {
  const size_t semicolon = numbers.find(';');
  const int first = std::atoi(numbers.c_str());
  const int second =
      semicolon == std::string::npos ? 0 : std::atoi(numbers.c_str() + semicolon + 1);
  if (verb == 'H') {
    row_ = std::clamp(first, 1, rows_) - 1;
    column_ = std::clamp(second, 1, columns_) - 1;
  } else if (verb == 'A') {
    row_ = std::max(row_ - std::max(first, 1), 0);
  } else if (verb == 'r') {
    bottom_ = (second == 0 ? rows_ : second) - 1;
    row_ = column_ = 0;
  } else if (verb == 'K' || verb == 'J') {
    std::string& row = cells_[static_cast<size_t>(row_)];
    std::fill(row.begin() + std::min(column_, columns_), row.end(), ' ');
    if (verb == 'J') {
      std::fill(cells_.begin() + row_ + 1, cells_.end(), std::string(row.size(), ' '));
    }
  } else if (verb != 'm') {
    ADD_FAILURE() << "ESC [ " << numbers << verb;
  }
}

}  // namespace heaptape::tests
