// How every command talks to people: errors, progress, exit codes.
#pragma once

#include <iosfwd>
#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Exit codes, as in docs/architecture.md.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;    // a gate failed, or damage was found
inline constexpr int kExitUnusable = 2;  // wrong usage, or input that cannot be read

// Writes "heaptape: SENTENCE" and returns kExitUnusable.
int complain(std::ostream& err, const base::Error& error);
int complain(std::ostream& err, const std::string& sentence);

// Makes sure that `out` took everything. Returns `exit_code`, or complains.
int finish(std::ostream& out, std::ostream& err, int exit_code);

// A line on standard error that shows how far some work is, if that is a terminal; else nothing.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to be called often: redraws ten times a second at most. `share` from 0 to 1.
  void show(double share);

 private:
  std::string what_;
  bool enabled_;
  bool drawn_ = false;
  uint64_t next_ns_ = 0;
};

}  // namespace heaptape::cli
