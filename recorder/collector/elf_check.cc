#include "recorder/collector/elf_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/elf_file.h"

namespace heaptape::recorder {
namespace {

using base::Error;
using base::Result;
using base::Status;

constexpr int kMaxInterpreters = 4;  // as many levels of scripts as Linux follows

Error unusable(const std::string& program, const std::string& why) {
  return Error::target("cannot record '" + program + "': " + why);
}

// The loader forgets LD_PRELOAD when a program runs with more rights than its caller.
bool gains_privileges(const std::string& program, const struct stat& info) {
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid()) return true;
  if ((info.st_mode & S_ISGID) != 0 && info.st_gid != getegid()) return true;
  return geteuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

// What follows "#!" in the first line; empty when the file is not a script.
std::string interpreter_of(const std::string& program) {
  const base::Descriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return "";
  char line[256] = {};
  const ssize_t got = read(file.get(), line, sizeof line - 1);
  if (got < 3 || line[0] != '#' || line[1] != '!') return "";
  const char* begin = line + 2 + std::strspn(line + 2, " \t");
  return std::string(begin, std::strcspn(begin, " \t\r\n"));
}

Status check_elf(const std::string& program, const base::ElfFile& elf) {
  if (!elf.is_native()) {
    return unusable(program, "it is built for another machine type than x86-64");
  }
  if (!elf.has_interpreter()) {
    return unusable(program,
                    "it is statically linked, so its malloc cannot be interposed; link it "
                    "dynamically (without -static) and record that");
  }
  if (elf.exports_function("malloc")) {
    return unusable(program,
                    "it defines malloc itself, so the preload library's malloc is never called; "
                    "link its allocator as a shared library, or preload that instead");
  }
  return {};
}

}  // namespace

Result<std::string> find_program(const std::string& command) {
  const auto runnable = [](const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (command.find('/') != std::string::npos) {
    struct stat info {};
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

Status check_recordable(const std::string& program) {
  std::string path = program;
  for (int level = 0; level <= kMaxInterpreters; ++level) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) {
      const std::string role = level == 0 ? "" : ", the interpreter of '" + program + "'";
      return base::os_error("cannot run '" + path + "'" + role, errno);
    }
    if (gains_privileges(path, info)) {
      return unusable(path,
                      "it runs with other privileges than yours, so the loader ignores the preload "
                      "library; record it as the user whose privileges it takes, or as root");
    }
    base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return {};  // executable but not readable: nothing can be said
    const base::ElfFile elf(std::move(file));
    if (elf.is_elf()) return check_elf(path, elf);
    const std::string interpreter = interpreter_of(path);
    if (interpreter.empty()) return {};  // execvp gives it to the shell
    path = interpreter;
  }
  return {};
}

}  // namespace heaptape::recorder
