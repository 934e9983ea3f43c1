// Some lines at the bottom of a terminal, below what a program prints there meanwhile: the
// program's lines scroll above them (the scrolling region, DECSTBM, of every terminal that has
// cursor addressing), and nothing of its output is overwritten.
#pragma once

#include <string>
#include <vector>

namespace heaptape::cli {

struct TerminalSize {
  int rows = 0;
  int columns = 0;

  bool operator==(const TerminalSize&) const = default;
};

// Makes the bytes to write; each text is to be written as one. One thread.
class TerminalPanel {
 public:
  // Draws `lines`, which are ASCII, cut to the terminal's width. The program keeps five rows: of
  // more lines than there is then room for, the first ones are shown, or none.
  std::string show(const std::vector<std::string>& lines, TerminalSize size);
  // Takes the panel away and gives the program all rows; empty where there is no panel. The cursor
  // stays where the program left it.
  std::string take_down();

 private:
  std::string set_up() const;

  TerminalSize size_;
  int height_ = 0;  // 0: there is no panel
};

}  // namespace heaptape::cli
