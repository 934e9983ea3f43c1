#include "cli/console.h"

#include <signal.h>
#include <unistd.h>

#include <iostream>

#include "base/clock.h"
#include "base/display_text.h"
#include "base/number_text.h"

namespace heaptape::cli {
namespace {

constexpr uint64_t kRedrawNs = 100 * base::kMillisecondNs;
constexpr uint64_t kFirstDrawNs = 500 * base::kMillisecondNs;
constexpr char kClearToEndOfLine[] = "\033[K";

}  // namespace

Console Console::standard() {
  return {std::cout, std::cerr, isatty(STDERR_FILENO) ? Audience::kPerson : Audience::kNobody};
}

void Console::print_error(const std::string& sentence) {
  err_ << "heaptape: " << base::display_text(sentence) << "\n";
}

int Console::fail(const std::string& sentence) {
  print_error(sentence);
  return kExitUnusable;
}

int Console::finish(int exit_code) {
  out_.flush();
  return out_ ? exit_code : fail("cannot write to standard output");
}

void Console::note(const std::string& text) {
  if (is_watched()) err_ << text << std::flush;
}

void tell_file_size_limit() {
  signal(SIGXFSZ, SIG_IGN);
}

Progress::Progress(Console& console, std::string what)
    : console_(console), what_(std::move(what)), next_ns_(base::monotonic_ns() + kFirstDrawNs) {}

Progress::~Progress() {
  if (drawn_) console_.note(std::string("\r") + kClearToEndOfLine);
}

void Progress::show(double share) {
  if (!console_.is_watched()) return;
  const uint64_t now_ns = base::monotonic_ns();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kRedrawNs;
  drawn_ = true;
  console_.note("\r" + what_ + base::format_text(" %3.0f %%", share * 100) + kClearToEndOfLine);
}

}  // namespace heaptape::cli
