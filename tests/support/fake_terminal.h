// A terminal of a few rows: shows what a person would see after some bytes. Knows the sequences
// that `heaptape record --live` writes, and fails the test on others.
#pragma once

#include <string>
#include <vector>

namespace heaptape::tests {

class FakeTerminal {
 public:
  FakeTerminal(int rows, int columns);

  void write(const std::string& bytes);
  // Rows that scrolled off the top, and those on the screen, without trailing spaces.
  const std::vector<std::string>& scrolled_off() const { return scrolled_off_; }
  std::vector<std::string> screen() const;
  bool has_scrolling_region() const { return bottom_ != rows_ - 1; }
  int row() const { return row_; }
  int column() const { return column_; }

 private:
  void put(char c);
  size_t run_sequence(const std::string& bytes, size_t at);
  void control(const std::string& numbers, char verb);
  void line_down();

  int rows_;
  int columns_;
  int bottom_;  // the last row of the scrolling region, which begins at the top
  int row_ = 0;
  int column_ = 0;
  int saved_row_ = 0;
  int saved_column_ = 0;
  std::vector<std::string> cells_;
  std::vector<std::string> scrolled_off_;
};

}  // namespace heaptape::tests
