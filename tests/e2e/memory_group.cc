#include "tests/e2e/memory_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace heaptape::tests {
namespace {

// Version 1 mounts the controllers apart; in version 2, a group's file says what it can limit.
constexpr const char* kVersion1 = "/sys/fs/cgroup/memory";
constexpr const char* kVersion2 = "/sys/fs/cgroup";

bool write_number(const std::string& file, uint64_t number) {
  std::ofstream out(file);
  out << number << std::flush;
  return out.good();
}

}  // namespace

MemoryGroup::MemoryGroup(uint64_t limit_bytes) {
  const bool first = std::filesystem::is_directory(kVersion1);
  folder_ =
      std::string(first ? kVersion1 : kVersion2) + "/heaptape-test-" + std::to_string(getpid());
  processes_ = folder_ + "/cgroup.procs";
  if (mkdir(folder_.c_str(), 0755) != 0) {
    missing_ = "cannot make a control group: " + std::string(strerror(errno));
  } else if (!write_number(folder_ + (first ? "/memory.limit_in_bytes" : "/memory.max"),
                           limit_bytes)) {
    missing_ = "control groups here cannot limit memory";
  }
}

MemoryGroup::~MemoryGroup() {
  rmdir(folder_.c_str());
}

void MemoryGroup::enter() const {
  const int file = open(processes_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, "0", 1) != 1) _exit(125);
  close(file);
}

}  // namespace heaptape::tests
