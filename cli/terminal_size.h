// The size of a terminal, for the live panel and for help.
#pragma once

namespace heaptape::cli {

struct TerminalSize {
  int rows = 0;
  int columns = 0;

  bool operator==(const TerminalSize&) const = default;
};

// If `descriptor` is not a terminal, or the terminal does not know its size, returns LINES and
// COLUMNS of the environment, or else 24 rows of 80 columns.
TerminalSize terminal_size(int descriptor);

}  // namespace heaptape::cli
