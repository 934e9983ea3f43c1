#include "cli/console.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/terminal_size.h"

namespace heaptape::cli {
namespace {

constexpr uint64_t kRedrawNs = 100 * base::kMillisecondNs;
constexpr uint64_t kFirstDrawNs = 500 * base::kMillisecondNs;
constexpr char kClearToEndOfLine[] = "\033[K";

constexpr uint64_t kSecondNs = 1000 * base::kMillisecondNs;

// The terminal's color codes; kPlain is none.
constexpr char kPlain[] = "";
constexpr char kRed[] = "\033[31m";
constexpr char kGreen[] = "\033[32m";
constexpr char kYellow[] = "\033[33m";

std::string in_colour(const std::string& line, const std::string& colour) {
  return colour.empty() ? line : colour + line + "\033[0m";
}

const char* colour_of(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.starts_with("FAIL") || line.starts_with("WARNING: ")) return kRed;
  if (line.starts_with("PASS")) return kGreen;
  return line.starts_with("note: ") ? kYellow : kPlain;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool wants_colours(ColourChoice choice, bool is_terminal) {
  if (choice != ColourChoice::kAuto) return choice == ColourChoice::kAlways;
  return is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

Console Console::standard() {
  const bool is_watched = isatty(STDERR_FILENO) == 1;
  Console console(std::cout, std::cerr, is_watched ? Audience::kPerson : Audience::kNobody);
  console.out_is_terminal_ = isatty(STDOUT_FILENO) == 1;
  console.err_is_terminal_ = is_watched;
  return console;
}

void Console::choose_colours(ColourChoice choice) {
  out_has_colours_ = wants_colours(choice, out_is_terminal_);
  err_has_colours_ = wants_colours(choice, err_is_terminal_);
}

void Console::choose_width(bool is_wide) {
  const bool is_any = is_wide || !out_is_terminal_;
  table_width_ = is_any ? SIZE_MAX : static_cast<size_t>(terminal_size(STDOUT_FILENO).columns);
}

void Console::print_text(const std::string& text) {
  if (!out_has_colours_) {
    out_ << text;
    return;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    out_ << in_colour(line, colour_of(line)) << "\n";
  }
}

void Console::print_error(const std::string& sentence) {
  const std::string line = "heaptape: " + base::display_text(sentence);
  err_ << in_colour(line, err_has_colours_ ? kRed : kPlain) << "\n";
}

void Console::print_note(const std::string& sentence) {
  const std::string line = "heaptape: note: " + base::display_text(sentence);
  err_ << in_colour(line, err_has_colours_ ? kYellow : kPlain) << "\n";
}

int Console::fail(const std::string& sentence) {
  print_error(sentence);
  return kExitUnusable;
}

int Console::finish(int exit_code) {
  out_.flush();
  return out_ ? exit_code : fail("cannot write to standard output");
}

void Console::print_if_watched(const std::string& text) {
  if (is_watched()) err_ << text << std::flush;
}

void tell_file_size_limit() {
  signal(SIGXFSZ, SIG_IGN);
}

std::string time_left_text(uint64_t elapsed_ns, double share) {
  if (elapsed_ns < kSecondNs || share < 0.02 || share >= 1) return "";
  const double left_ns = static_cast<double>(elapsed_ns) * (1 - share) / share;
  const auto seconds = static_cast<uint64_t>(left_ns / static_cast<double>(kSecondNs));
  if (seconds < 100) return ", " + std::to_string(seconds + 1) + " s left";
  const uint64_t minutes = seconds / 60 + 1;
  if (minutes < 100) return ", " + std::to_string(minutes) + " min left";
  return ", " + std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min left";
}

Progress::Progress(Console& console, std::string what)
    : console_(console),
      what_(std::move(what)),
      begin_ns_(base::monotonic_ns()),
      next_ns_(begin_ns_ + kFirstDrawNs) {}

Progress::~Progress() {
  if (drawn_) console_.print_if_watched(std::string("\r") + kClearToEndOfLine);
}

void Progress::show(double share) {
  if (!console_.is_watched()) return;
  const uint64_t now_ns = base::monotonic_ns();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kRedrawNs;
  drawn_ = true;
  console_.print_if_watched("\r" + what_ + base::format_text(" %3.0f %%", share * 100) +
                            time_left_text(now_ns - begin_ns_, share) + kClearToEndOfLine);
}

}  // namespace heaptape::cli
