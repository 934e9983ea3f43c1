// How every command talks to people: results, errors, progress, exit codes. In cli/, only this and
// live_screen.h write to a standard stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Exit codes, as in docs/architecture.md.
inline constexpr int kExitDone = 0;
// A gate or an allocator failed, or `verify` or `import` found damage or losses.
inline constexpr int kExitFailed = 1;
// Any other error: wrong usage, input that cannot be read, or only in part, output that cannot be
// written.
inline constexpr int kExitUnusable = 2;

// --color. kAuto: in streams that are terminals, unless NO_COLOR is set (no-color.org) or the
// terminal is a dumb one.
enum class ColourChoice : uint8_t { kAuto, kAlways, kNever };
bool wants_colours(ColourChoice choice, bool is_terminal);

// Results go to `out`, everything else to `err`. Owns neither. For one thread.
class Console {
 public:
  // Whether a person watches `err` live. If not, print_if_watched() writes nothing and no progress
  // is shown.
  enum class Audience : uint8_t { kNobody, kPerson };

  Console(std::ostream& out, std::ostream& err, Audience audience = Audience::kNobody)
      : out_(out), err_(err), audience_(audience) {}
  // Standard output and standard error; a person watches if the latter is a terminal.
  static Console standard();

  std::ostream& out() { return out_; }
  // Writes a result for people, in whole lines, to `out`. With colors, failed and passed gates,
  // warnings and notes stand out.
  void print_text(const std::string& text);

  // Writes "heaptape: SENTENCE", fit to print, to `err`.
  void print_error(const std::string& sentence);
  // Writes "heaptape: note: SENTENCE": something worth knowing that is not an error.
  void print_note(const std::string& sentence);
  // Reports the error that ends a command, as print_error does, and returns kExitUnusable.
  int fail(const base::Error& error) { return fail(error.message); }
  int fail(const std::string& sentence);
  // Ends a command that worked: returns `exit_code`, or fails if `out` did not take everything.
  int finish(int exit_code = kExitDone);

  bool is_watched() const { return audience_ == Audience::kPerson; }
  // Writes `text` unchanged to `err` if somebody watches.
  void print_if_watched(const std::string& text);

  // No colors before this call.
  void choose_colours(ColourChoice choice);

  // The maximum width of a table in `out`: the columns of the terminal, if `out` is one and --wide
  // was not given; else unlimited.
  size_t table_width() const { return table_width_; }
  void choose_width(bool is_wide);

 private:
  std::ostream& out_;
  std::ostream& err_;
  Audience audience_;
  bool out_is_terminal_ = false;
  bool err_is_terminal_ = false;
  bool out_has_colours_ = false;
  bool err_has_colours_ = false;
  size_t table_width_ = SIZE_MAX;
};

// Ignores SIGXFSZ, so that reaching the file size limit makes write(2) fail instead of ending the
// program. Not for `record`: its program must not inherit that (RecorderSignals).
void tell_file_size_limit();

// ", 12 s left", ", 3 min left": the time left, if `share` of the work took `elapsed_ns` and the
// rest runs at the same speed. Empty while that means little: in the first second, or below 2 %.
std::string time_left_text(uint64_t elapsed_ns, double share);

// A progress line that lives as long as the object. Shows nothing in the first half second, nor if
// nobody watches.
class Progress {
 public:
  Progress(Console& console, std::string what);
  ~Progress();  // removes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to call often: redraws at most ten times a second. `share` is from 0 to 1.
  void show(double share);

 private:
  Console& console_;
  std::string what_;
  bool drawn_ = false;
  uint64_t begin_ns_ = 0;
  uint64_t next_ns_ = 0;
};

}  // namespace heaptape::cli
