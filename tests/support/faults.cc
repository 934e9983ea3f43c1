#include "tests/support/faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

constexpr int kMayNotTrace = 124;

struct Error {
  const char* symbol;
  int number;
};
const Error kNoSpace{"ENOSPC", ENOSPC};
const Error kInputOutput{"EIO", EIO};
const Error kQuota{"EDQUOT", EDQUOT};
const Error kMemory{"ENOMEM", ENOMEM};
const Error kDescriptors{"EMFILE", EMFILE};
const Error kFiles{"ENFILE", ENFILE};
const Error kThreads{"EAGAIN", EAGAIN};
const Error kPermission{"EPERM", EPERM};
const Error kNoFile{"ENOENT", ENOENT};

// What each call may be answered.
const std::map<std::string, std::vector<Error>> kErrors = {
    {"write", {kNoSpace, kInputOutput, kQuota}},
    {"pwrite", {kNoSpace, kInputOutput, kQuota}},
    {"read", {kInputOutput, kMemory}},
    {"pread", {kInputOutput, kMemory}},
    {"open", {kDescriptors, kFiles, kMemory, kInputOutput}},
    {"close", {kInputOutput, kQuota, kNoSpace}},
    {"mmap", {kMemory}},
    {"fcntl", {kDescriptors}},
    {"flock", {kInputOutput, kMemory}},
    {"ftruncate", {kInputOutput, kNoSpace}},
    {"fallocate", {kNoSpace, kQuota}},
    {"lseek", {kInputOutput}},
    {"getdents", {kInputOutput}},
    {"rename", {kNoSpace, kInputOutput, kQuota}},
    {"renameat2", {kNoSpace, kInputOutput, kQuota}},
    {"unlink", {kInputOutput}},
    {"readlink", {kNoFile, kMemory}},
    {"memfd_create", {kDescriptors, kFiles, kMemory}},
    {"pipe2", {kDescriptors, kFiles}},
    {"eventfd2", {kDescriptors, kFiles, kMemory}},
    {"signalfd4", {kDescriptors, kFiles, kMemory}},
    {"socket", {kDescriptors, kFiles, kMemory}},
    {"bind", {kMemory}},
    {"listen", {kMemory}},
    {"connect", {kThreads}},
    {"accept4", {kDescriptors, kFiles, kMemory}},
    {"sendmsg", {kMemory}},
    {"recvmsg", {kMemory}},
    {"sendto", {kMemory}},
    {"recvfrom", {kMemory}},
    {"poll", {kMemory}},
    {"clone", {kThreads, kMemory}},
    {"clone3", {kThreads}},
    {"pidfd_open", {kDescriptors, kFiles, kMemory}},
    {"process_vm_readv", {kPermission, kMemory}},
};

// The ends of loops write to these, and the kernel never refuses.
bool never_fails(const SystemCall& call) {
  return call.file.find("eventfd") != std::string::npos ||
         call.file.find("locale") != std::string::npos;
}

// What calls have in common that stand for each other: files outside of the directory and of /proc
// are of one kind.
std::string kind_of(const SystemCall& call) {
  const bool is_elsewhere = call.file.starts_with("/") && !call.file.starts_with("/proc") &&
                            !call.file.starts_with("/memfd");
  return call.program + " " + call.name + " " + (is_elsewhere ? "elsewhere" : call.file);
}

std::string as_argument(const SystemCall& call) {
  return call.program + " " + call.name + " " + call.file;
}

}  // namespace

Traced run_in_trouble(const std::string& directory, const std::vector<std::string>& words,
                      const std::vector<std::string>& faults) {
  const TempDir log;
  std::vector<std::string> line = {target_path("inject_faults"), directory, log.file("log")};
  line.insert(line.end(), faults.begin(), faults.end());
  line.insert(line.end(), {"--", heaptape_path()});
  line.insert(line.end(), words.begin(), words.end());
  Traced traced{run_command(line), {}};
  traced.is_allowed = traced.ended.status != kMayNotTrace;
  for (std::string text : lines_of(read_bytes(log.file("log")))) {
    if (text.starts_with("!")) {
      ++traced.failed_calls;
      text.erase(0, 1);
    }
    SystemCall call;
    std::istringstream parts(text);
    parts >> call.program >> call.name >> std::ws;
    std::getline(parts, call.file);
    traced.calls.push_back(std::move(call));
  }
  return traced;
}

std::string Fault::text() const {
  const std::string first = std::to_string(number);
  return error + " " + first + " " + (persists ? "-" : first) + " " + as_argument(call);
}

std::vector<Fault> faults_of(const std::vector<SystemCall>& calls, size_t most) {
  std::map<std::string, uint64_t> counts;
  std::map<std::string, std::vector<Fault>> kinds;
  for (const SystemCall& call : calls) {
    const uint64_t number = ++counts[as_argument(call)];
    if (kErrors.contains(call.name) && !never_fails(call))
      kinds[kind_of(call)].push_back({call, number, "", ""});
  }
  std::vector<Fault> all;
  for (auto& [kind, faults] : kinds) {
    all.push_back(faults.front());
    if (faults.size() > 2) all.push_back(faults[faults.size() / 2]);
    if (faults.size() > 1) all.push_back(faults.back());
  }
  std::vector<Fault> chosen;
  const uint64_t seed = test_seed();
  const size_t step = std::max<size_t>(1, (all.size() + most - 1) / most);
  for (size_t i = seed % step; i < all.size(); i += step) {
    const auto& errors = kErrors.at(all[i].call.name);
    const Error& error = errors[(seed + i) % errors.size()];
    all[i].error = error.symbol;
    all[i].reason = strerror(error.number);
    chosen.push_back(all[i]);
  }
  return chosen;
}

std::vector<Fault> full_disks(const std::vector<SystemCall>& calls) {
  const auto writes =
      static_cast<uint64_t>(std::ranges::count_if(calls, [](const SystemCall& call) {
        return call.name == "write" && call.is_in_directory();
      }));
  std::vector<Fault> faults;
  for (uint64_t first = 1; first <= writes; first = first * 2 + 1) {
    faults.push_back({{"heaptape", "write", "~"}, first, "ENOSPC", strerror(ENOSPC), true});
  }
  return faults;
}

std::map<std::string, std::string> files_in(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files[entry.path().filename()] = read_bytes(entry.path());
  }
  return files;
}

}  // namespace heaptape::tests
