// Commands whose system calls fail (support/inject_faults.cc).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace heaptape::tests {

// A call of a command, such as {"heaptape", "write", "~/out.csv.partial"}.
struct SystemCall {
  std::string program;
  std::string name;
  std::string file;  // "~" is the command's directory

  bool is_in_directory() const { return file.starts_with("~/"); }
};

struct Traced {
  Ended ended;
  std::vector<SystemCall> calls;
  uint64_t failed_calls = 0;  // how many of them were made to fail, or short
  bool is_allowed = true;     // false: this user may not trace
};

// Runs "heaptape WORDS..." in `directory` with these faults.
Traced run_in_trouble(const std::string& directory, const std::vector<std::string>& words,
                      const std::vector<std::string>& faults);

// A failure to try: that of the NUMBERth such call.
struct Fault {
  SystemCall call;
  uint64_t number = 0;
  std::string error;   // its symbol, such as ENOSPC
  std::string reason;  // as people read it
  bool persists = false;

  std::string text() const;
};

// The first call of each kind, one in the middle, and the last; of all those, at most `most`, at
// even distances. Errors take turns. The seed of the test chooses where to begin.
std::vector<Fault> faults_of(const std::vector<SystemCall>& calls, size_t most);

// A disk that is full from one of the writes to the command's directory on.
std::vector<Fault> full_disks(const std::vector<SystemCall>& calls);

// The files of a directory, and their bytes.
std::map<std::string, std::string> files_in(const std::string& directory);

}  // namespace heaptape::tests
