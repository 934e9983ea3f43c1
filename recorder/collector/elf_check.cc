#include "recorder/collector/elf_check.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.h"

namespace heaptape::recorder {
namespace {

using base::Error;
using base::Result;
using base::Status;

constexpr int kMaxInterpreters = 4;  // as many levels of scripts as Linux follows

Error unusable(const std::string& program, const std::string& why) {
  return Error::target("cannot record '" + program + "': " + why);
}

// libelf's handle on an open file.
class ElfFile {
 public:
  explicit ElfFile(base::Descriptor file) : file_(std::move(file)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(file_.get(), ELF_C_READ, nullptr);
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool is_elf() const { return elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF; }

  bool is_native() const {
    GElf_Ehdr header;
    return gelf_getehdr(elf_, &header) != nullptr && header.e_machine == EM_X86_64 &&
           header.e_ident[EI_CLASS] == ELFCLASS64;
  }

  bool has_interpreter() const {
    size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return false;
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf_, static_cast<int>(i), &segment) != nullptr &&
          segment.p_type == PT_INTERP) {
        return true;
      }
    }
    return false;
  }

  // Whether the dynamic symbol table defines the function.
  bool exports_function(const char* name) const {
    for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
         section = elf_nextscn(elf_, section)) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      const size_t symbols =
          data == nullptr || header.sh_entsize == 0 ? 0 : header.sh_size / header.sh_entsize;
      for (size_t i = 0; i < symbols; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) continue;
        if (symbol.st_shndx == SHN_UNDEF) continue;
        const char* found = elf_strptr(elf_, header.sh_link, symbol.st_name);
        if (found != nullptr && std::strcmp(found, name) == 0) return true;
      }
    }
    return false;
  }

 private:
  base::Descriptor file_;
  Elf* elf_ = nullptr;
};

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

Status check_elf(const std::string& program, const ElfFile& elf) {
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
    const ElfFile elf(std::move(file));
    if (elf.is_elf()) return check_elf(path, elf);
    const std::string interpreter = interpreter_of(path);
    if (interpreter.empty()) return {};  // execvp gives it to the shell
    path = interpreter;
  }
  return {};
}

}  // namespace heaptape::recorder
