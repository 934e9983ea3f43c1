// How every command talks to people: results, errors, progress, exit codes. Nothing else in cli/
// writes to a standard stream.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Exit codes, as in docs/architecture.md.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;    // a gate failed, or damage was found
inline constexpr int kExitUnusable = 2;  // wrong usage, or input that cannot be read

// Results go to `out`, everything else to `err`. Owns neither. One thread.
class Console {
 public:
  // Whether somebody watches `err` as it is written: only then are there notes and progress.
  enum class Audience : uint8_t { kNobody, kPerson };

  Console(std::ostream& out, std::ostream& err, Audience audience = Audience::kNobody)
      : out_(out), err_(err), audience_(audience) {}
  // Standard output and standard error; a person watches if the latter is a terminal.
  static Console standard();

  std::ostream& out() { return out_; }

  // Writes "heaptape: SENTENCE", fit to print, to `err`.
  void print_error(const std::string& sentence);
  // The same for the error that ends a command: returns kExitUnusable.
  int fail(const base::Error& error) { return fail(error.message); }
  int fail(const std::string& sentence);
  // The end of a command that worked: returns `exit_code`, or fails if `out` did not take all.
  int finish(int exit_code = kExitDone);

  bool is_watched() const { return audience_ == Audience::kPerson; }
  // Writes `text` as it is to `err` if somebody watches.
  void note(const std::string& text);

 private:
  std::ostream& out_;
  std::ostream& err_;
  Audience audience_;
};

// From now on reaching the limit on file size (SIGXFSZ) is an error of write(2), to be told, and
// ends nobody in silence. Not for `record`: its program must not inherit that (RecorderSignals).
void tell_file_size_limit();

// A line that shows how far some work is, for as long as the object lives. Shows nothing in the
// first half second, and nothing where nobody watches.
class Progress {
 public:
  Progress(Console& console, std::string what);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to be called often: redraws ten times a second at most. `share` from 0 to 1.
  void show(double share);

 private:
  Console& console_;
  std::string what_;
  bool drawn_ = false;
  uint64_t next_ns_ = 0;
};

}  // namespace heaptape::cli
