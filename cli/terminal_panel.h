// Some lines at the bottom of a terminal, below the output of a running program: the program's
// lines scroll above them (the scrolling region, DECSTBM, of every terminal with cursor
// addressing), and nothing of its output is overwritten.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal_size.h"

namespace heaptape::cli {

// Makes the bytes to write; each text must be written in one go. One thread.
class TerminalPanel {
 public:
  // Draws `lines`, which are ASCII, cut to the terminal's width. The program keeps five rows: if
  // the rest is too small for all lines, only the first are shown, or none.
  std::string show(const std::vector<std::string>& lines, TerminalSize size);
  // Removes the panel and gives the program all rows; empty if there is no panel. The cursor stays
  // where the program left it.
  std::string take_down();

 private:
  std::string set_up() const;

  TerminalSize size_;
  int height_ = 0;  // 0: no panel
};

}  // namespace heaptape::cli
