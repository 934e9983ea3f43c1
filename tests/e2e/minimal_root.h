// A folder that is the root of a container: heaptape, a shell, a program to record, their shared
// libraries, and nothing else. No /proc, no /dev.
#pragma once

#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace heaptape::tests {

// Where things are inside.
inline constexpr const char* kInnerHeaptape = "/opt/heaptape/bin/heaptape";
inline constexpr const char* kInnerTapes = "/tapes";  // the folder to write to

class MinimalRoot {
 public:
  enum class Heaptape { kNo, kYes };

  // With the programs at `paths`, each as /bin/NAME.
  MinimalRoot(Heaptape heaptape, const std::vector<std::string>& paths);

  std::string path() const { return dir_.path(); }
  // The path, from outside, of what is at `inner`.
  std::string outer(const std::string& inner) const { return dir_.file(inner.substr(1)); }

 private:
  void copy(const std::string& from, const std::string& inner) const;
  // `program` and the libraries that the loader finds for it.
  void copy_program(const std::string& program, const std::string& inner) const;

  TempDir dir_;
};

// The words that run a shell script as process 1 of new user, process and mount namespaces.
std::vector<std::string> in_namespaces(const std::string& script);
// Why this machine has no such namespaces for us; empty if it has.
std::string no_namespaces();

}  // namespace heaptape::tests
