#include "recorder/program/program_check.h"

#include <linux/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstring>
#include <initializer_list>

#include "recorder/program/elf_image.h"
#include "recorder/program/preload_list.h"
#include "recorder/program/raw_file.h"
#include "recorder/ring/bounded_text.h"

namespace heaptape::recorder {
namespace {

constexpr int kMaxInterpreters = 5;      // levels of scripts that Linux follows
constexpr size_t kFirstLineBytes = 256;  // where Linux reads a script's interpreter
constexpr uint32_t kMaxNeeded = 512;
constexpr size_t kMaxPreloadPath = 1024;  // a longer one passes
constexpr long kNoSuidMount = 2;          // statfs(2), ST_NOSUID

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

const char* base_name(const char* path) {
  const char* base = path;
  for (; *path != 0; ++path) {
    if (*path == '/') base = path + 1;
  }
  return base;
}

// Run-time libraries that replace malloc and insist on being the first library. UBSan's does
// neither.
bool is_sanitizer(const char* library) {
  for (const char* name : {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so",
                           "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.lsan",
                           "libclang_rt.hwasan", "libclang_rt.msan", "libclang_rt.memprof"}) {
    if (starts_with(library, name)) return true;
  }
  return false;
}

bool has_sanitizer_inside(const ElfImage& image) {
  for (const char* symbol : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init",
                             "__lsan_init", "__memprof_init"}) {
    if (image.defines(symbol)) return true;
  }
  return false;
}

bool needs_sanitizer(const ElfImage& image) {
  ElfImage::Name name;
  for (uint32_t i = 0; i < kMaxNeeded && image.read_needed(i, name); ++i) {
    if (is_sanitizer(base_name(name))) return true;
  }
  return false;
}

// The preload library that fits glibc's loader also fits musl's.
bool is_known_loader(const char* path) {
  const char* const name = base_name(path);
  return std::strcmp(name, "ld-linux-x86-64.so.2") == 0 ||
         std::strcmp(name, "ld-musl-x86_64.so.1") == 0;
}

// Whether the program will run with rights that its caller lacks: the loader then ignores
// LD_PRELOAD. As the kernel decides it (security/commoncap.c), real against effective ids.
bool gains_privileges(const struct stat& info, const RawFile& file) {
  long user = raw_syscall(SYS_geteuid);
  long group = raw_syscall(SYS_getegid);
  struct statfs mount{};
  const bool honoured = raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS) == 0 &&
                        raw_syscall(SYS_fstatfs, file.descriptor(), as_long(&mount)) == 0 &&
                        (mount.f_flags & kNoSuidMount) == 0;
  if (honoured) {
    constexpr mode_t kSetGroup = S_ISGID | S_IXGRP;
    if ((info.st_mode & S_ISUID) != 0) user = info.st_uid;
    if ((info.st_mode & kSetGroup) == kSetGroup) group = info.st_gid;
  }
  if (user != raw_syscall(SYS_getuid) || group != raw_syscall(SYS_getgid)) return true;
  if (!honoured || user == 0) return false;
  return raw_syscall(SYS_fgetxattr, file.descriptor(), as_long("security.capability"), 0, 0) > 0;
}

// NAME from "#! NAME ..." in the first line, stored in `line`; null if this is not a script.
const char* read_interpreter(const RawFile& file, char (&line)[kFirstLineBytes]) {
  const size_t got = file.read(0, line, sizeof line - 1);
  line[got] = 0;
  if (!starts_with(line, "#!")) return nullptr;
  char* const begin = line + 2 + std::strspn(line + 2, " \t");
  begin[std::strcspn(begin, " \t\n")] = 0;
  return *begin != 0 ? begin : nullptr;
}

// PROGRAM from "ld.so [OPTION...] PROGRAM ..."; null if it runs none, or that is unclear.
const char* program_of_loader(const char* const* argv) {
  if (argv == nullptr || *argv == nullptr) return nullptr;
  for (++argv; *argv != nullptr && starts_with(*argv, "--"); ++argv) {
    for (const char* option :
         {"--library-path", "--preload", "--argv0", "--audit", "--inhibit-rpath",
          "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"}) {
      if (std::strcmp(*argv, option) == 0 && *++argv == nullptr) return nullptr;
    }
    for (const char* option : {"--list", "--verify", "--help", "--version"}) {
      if (starts_with(*argv, option)) return nullptr;
    }
  }
  return *argv;
}

// Judges a program as the loader will load it.
Unrecorded check_dynamic(const ElfImage& image) {
  if (needs_sanitizer(image)) return Unrecorded::kSanitizer;
  if (!image.defines("malloc")) return Unrecorded::kNone;
  ElfImage::Name name;
  if (image.read_soname(name)) return Unrecorded::kLibrary;
  return has_sanitizer_inside(image) ? Unrecorded::kSanitizer : Unrecorded::kOwnMalloc;
}

Unrecorded check_loaded_by_name(const char* program) {
  const RawFile file(AT_FDCWD, program);
  if (!file.valid()) return Unrecorded::kNone;
  const ElfImage image(file);
  if (image.is_elf() && !image.is_native()) return Unrecorded::kOtherMachine;
  return check_dynamic(image);
}

// `path` becomes the culprit, if that is another file.
Unrecorded check_elf(const ElfImage& image, const char* const* argv, const char** path) {
  if (!image.is_native()) return Unrecorded::kOtherMachine;
  ElfImage::Name name;
  if (image.read_interpreter(name)) {
    return is_known_loader(name) ? check_dynamic(image) : Unrecorded::kForeignLoader;
  }
  // No interpreter, but a library's name: a loader. Debian's musl has no name.
  const bool is_loader = image.read_soname(name) || is_known_loader(*path);
  if (!is_loader) return Unrecorded::kStatic;
  const char* const program = program_of_loader(argv);
  if (program == nullptr) return Unrecorded::kNone;
  *path = program;
  return check_loaded_by_name(program);
}

// Obstacles in LD_PRELOAD itself.
Unrecorded check_preload(const char* preload) {
  for (PreloadList list(preload); list.next();) {
    if (is_sanitizer(list.base_name())) return Unrecorded::kSanitizer;
    char path[kMaxPreloadPath];
    if (!list.is_ours() || list.length() >= sizeof path) continue;
    std::memcpy(path, list.name(), list.length());
    path[list.length()] = 0;
    if (!RawFile(AT_FDCWD, path).valid()) return Unrecorded::kLibraryOutOfReach;
  }
  return Unrecorded::kNone;
}

struct Step {
  Unrecorded reason = Unrecorded::kNone;
  const char* path;            // of the culprit
  const char* next = nullptr;  // the interpreter to look at instead
};

// Checks one file of the chain. `line` keeps the name of the next one.
Step check_file(const ProgramStart& start, char (&line)[kFirstLineBytes]) {
  Step step{.path = start.path};
  struct stat info{};
  const long found =
      raw_syscall(SYS_newfstatat, start.folder, as_long(start.path), as_long(&info), 0);
  if (found != 0 || !S_ISREG(info.st_mode)) return step;
  const RawFile file(start.folder, start.path);
  if (!file.valid()) return step;
  const ElfImage image(file);
  if (!image.is_elf()) {
    step.next = read_interpreter(file, line);
    if (step.next == nullptr && start.shell_takes_text) step.next = "/bin/sh";
  } else if (gains_privileges(info, file)) {
    step.reason = Unrecorded::kPrivileges;
  } else {
    step.reason = check_elf(image, start.argv, &step.path);
  }
  return step;
}

}  // namespace

void check_program(const ProgramStart& start, Verdict* verdict) {
  char lines[2][kFirstLineBytes];  // the name in use, and the next one
  Step step = check_file(start, lines[0]);
  for (int level = 1; level <= kMaxInterpreters && step.next != nullptr; ++level) {
    step = check_file({.path = step.next}, lines[level % 2]);
  }
  if (step.reason == Unrecorded::kNone && start.preload != nullptr) {
    step.reason = check_preload(start.preload);
  }
  verdict->reason = step.reason;
  copy_text(verdict->path, step.path);
}

}  // namespace heaptape::recorder
