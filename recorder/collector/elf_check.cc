#include "recorder/collector/elf_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "recorder/program/program_check.h"

namespace heaptape::recorder {
namespace {

using base::Error;
using base::Result;
using base::Status;

Error unusable(const std::string& program, const std::string& why) {
  return Error::target("cannot record '" + program + "': " + why);
}

// What is wrong with the program, and what to do.
const char* advice(Unrecorded reason) {
  switch (reason) {
    case Unrecorded::kStatic:
      return "it is statically linked, so its malloc cannot be interposed; link it dynamically "
             "(without -static) and record that";
    case Unrecorded::kOtherMachine:
      return "it is built for a machine other than x86-64";
    case Unrecorded::kOwnMalloc:
      return "it defines malloc itself, so the preload library's malloc is never called; link its "
             "allocator as a shared library, or preload that instead";
    case Unrecorded::kPrivileges:
      return "it runs with privileges other than yours, so the loader ignores the preload library; "
             "record it as the user whose privileges it takes, or as root";
    case Unrecorded::kForeignLoader:
      return "its loader is neither glibc's nor musl's, the only ones that the preload library "
             "supports";
    case Unrecorded::kSanitizer:
      return "a sanitizer (-fsanitize=...) provides its malloc and must be loaded first; build it "
             "without";
    case Unrecorded::kLibrary:
      return "it is a C library, into which no other library can be preloaded";
    default:
      return "the preload library does not work in it";
  }
}

}  // namespace

Result<std::string> find_program(const std::string& command) {
  const auto runnable = [](const std::string& path) {
    struct stat info{};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (command.find('/') != std::string::npos) {
    struct stat info{};
    if (stat(command.c_str(), &info) != 0) {
      return base::os_error("cannot run '" + command + "'", errno);
    }
    if (!runnable(command)) return unusable(command, "it is not an executable file");
    return command;
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    const std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + command;
    if (runnable(candidate)) return candidate;
    if (folder.size() == rest.size()) break;
    rest.remove_prefix(folder.size() + 1);
  }
  return Error::not_found("cannot run '" + command + "': there is no such program in PATH");
}

Status check_recordable(const std::string& program, const std::vector<std::string>& command) {
  std::vector<const char*> argv;
  for (const std::string& word : command) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  Verdict verdict;
  check_program({.path = program.c_str(), .argv = argv.data(), .preload = getenv("LD_PRELOAD")},
                &verdict);
  if (verdict.reason != Unrecorded::kNone) return unusable(verdict.path, advice(verdict.reason));
  const bool is_cut = std::strlen(verdict.path) + 1 == Verdict::kPathBytes;
  struct stat info{};
  if (is_cut || stat(verdict.path, &info) == 0) return {};  // a cut path: execution will show
  const std::string role = verdict.path == program ? "" : ", the interpreter of '" + program + "'";
  return base::os_error("cannot run '" + std::string(verdict.path) + "'" + role, errno);
}

}  // namespace heaptape::recorder
