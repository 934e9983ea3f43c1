// The names of the tapes of one recording.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "recorder/collector/process_sampler.h"

namespace heaptape::recorder {

// `pattern` with %n for the name of the program, %t for the time in UTC (20261129T164500Z), %p for
// the pid of this process, %% for %. Fails if anything else follows a %.
base::Result<std::string> expand_tape_path(const std::string& pattern, const std::string& program);

// The copy `number` of the tape at `tape_path`: STEM.flush-N.tape beside it.
std::string copy_path(const std::string& tape_path, uint64_t number);

// At least `number`: no tape is at the copy_path() of that.
uint64_t free_copy_number(const std::string& tape_path, uint64_t number);

// The first tape of an interval of the recording whose first tape of all is at `tape_path`:
// STEM.interval-N.tape beside it.
std::string interval_path(const std::string& tape_path, uint64_t number);

// At least `number`: no tape is, or is being written, at the interval_path() of that.
uint64_t free_interval_number(const std::string& tape_path, uint64_t number);

class TapeNames {
 public:
  // `tape_path` is that of the first process.
  explicit TapeNames(std::string tape_path) : tape_path_(std::move(tape_path)) {}

  // The path for one more process, never the same twice. The first process gets `tape_path`, others
  // STEM.PID.PROGRAM.tape or STEM.PID.PROGRAM.N.tape beside it.
  std::string next(const ProcessIdentity& identity);

 private:
  std::string tape_path_;
  std::set<std::string> taken_;
};

}  // namespace heaptape::recorder
