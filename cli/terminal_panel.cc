#include "cli/terminal_panel.h"

#include <algorithm>

namespace heaptape::cli {
namespace {

constexpr int kLeastRowsOfProgram = 5;

constexpr char kSaveCursor[] = "\0337";
constexpr char kRestoreCursor[] = "\0338";
constexpr char kDownOrScroll[] = "\033D";  // keeps the column; a line feed may not
constexpr char kNoScrollingRegion[] = "\033[r";
constexpr char kClearToEndOfScreen[] = "\033[J";
constexpr char kClearToEndOfLine[] = "\033[K";
constexpr char kPlainLook[] = "\033[0m";
constexpr char kReversed[] = "\033[7m";

std::string control(const std::string& numbers, char verb) {
  return "\033[" + numbers + verb;
}

}  // namespace

std::string TerminalPanel::show(const std::vector<std::string>& lines, TerminalSize size) {
  const int height =
      std::min(static_cast<int>(lines.size()), std::max(size.rows - kLeastRowsOfProgram, 0));
  std::string text;
  if (size != size_ || height != height_) {
    text = take_down();
    size_ = size;
    height_ = height;
    text += set_up();
  }
  if (height_ == 0) return text;
  text += kSaveCursor;
  for (int i = 0; i < height_; ++i) {
    text += control(std::to_string(size_.rows - height_ + 1 + i) + ";1", 'H') +
            (i == 0 ? kReversed : kPlainLook) +
            lines[static_cast<size_t>(i)].substr(0, static_cast<size_t>(size_.columns)) +
            kPlainLook + kClearToEndOfLine;
  }
  return text + kRestoreCursor;
}

// Scrolls up to make room below the cursor first.
std::string TerminalPanel::set_up() const {
  if (height_ == 0) return "";
  std::string text;
  for (int i = 0; i < height_; ++i) text += kDownOrScroll;
  return text + control(std::to_string(height_), 'A') + kSaveCursor +
         control("1;" + std::to_string(size_.rows - height_), 'r') + kRestoreCursor;
}

std::string TerminalPanel::take_down() {
  if (height_ == 0) return "";
  height_ = 0;
  return std::string(kSaveCursor) + kNoScrollingRegion + kRestoreCursor + kClearToEndOfScreen;
}

}  // namespace heaptape::cli
