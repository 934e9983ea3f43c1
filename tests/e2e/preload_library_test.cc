// What the preload library brings into every program: no other library, and no name but those of
// the functions that it hooks. As readelf tells it.
#include <algorithm>
#include <set>
#include <sstream>

#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

using Names = std::set<std::string>;

// The malloc family of libc, operators new and delete in every form of C++20, and what executes
// programs, opens libraries and restricts system calls.
const Names kEntryPoints = {
    "execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
    "posix_spawn", "posix_spawnp", "system", "popen", "prctl", "syscall", "dlopen", "dlmopen",
    "dlclose",
    // libc
    "malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "posix_memalign",
    "memalign", "valloc", "pvalloc", "mallopt", "malloc_trim",
    // memory beside malloc
    "mmap", "mmap64", "munmap", "mremap", "mprotect", "madvise", "brk", "sbrk",
    // new: plain, nothrow, aligned, aligned nothrow; of one object, of an array
    "_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
    // delete: plain, sized, nothrow, aligned, sized and aligned, aligned nothrow
    "_ZdlPv", "_ZdlPvm", "_ZdlPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPv", "_ZdaPvm", "_ZdaPvRKSt9nothrow_t",
    "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t"};

// All that it may call: what neither allocates nor locks, but for the loader's own functions.
const Names kImports = {
    "dlsym",
    "dladdr",
    "dlopen",
    "dlclose",
    "dl_iterate_phdr",  // the loader; not dlerror, which takes the locale's lock
    "__register_atfork",
    "pthread_atfork",  // weak: glibc's, and musl's; they lock, but a constructor calls them
    "__cxa_throw",     // weak: is there a C++ run-time library?
    "__errno_location",
    "environ",
    "__environ",
    "__libc_stack_end",      // libc's data; weak: musl has none
    "gnu_get_libc_version",  // weak: is libc glibc, and which?
    "mi_version",            // weak, as tc_version: which mimalloc, or gperftools? A constant
    "tc_version",
    "mallctl",  // weak, as the next two: is there such an allocator? Not called
    "mi_collect",
    "MallocExtension_ReleaseFreeMemory",
    "getauxval",
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",  // bytes
    "strlen",
    "strnlen",
    "strchr",
    "strrchr",
    "strstr",
    "strspn",
    "strcspn",
    "strcmp",
    "strncmp",  // text
    "__cxa_finalize",
    "__gmon_start__",  // the compiler's own
    "_ITM_registerTMCloneTable",
    "_ITM_deregisterTMCloneTable"};

struct Symbol {
  std::string name;  // without its version
  bool is_defined = false;
};

class PreloadLibrary : public testing::Test {
 protected:
  static std::string readelf(const std::string& option) {
    const Ended ended = run_command({"readelf", option, "-W", preload_path()});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return ended.out;
  }

  // The lines of `readelf OPTION` with `part` in them.
  static std::vector<std::string> lines(const std::string& option, const std::string& part) {
    std::vector<std::string> found;
    std::istringstream text(readelf(option));
    for (std::string line; std::getline(text, line);) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }

  // Those of the dynamic symbol table: "NUM: VALUE SIZE TYPE BIND VISIBILITY SECTION NAME@VERSION".
  static std::vector<Symbol> symbols() {
    std::vector<Symbol> found;
    for (const std::string& line : lines("--dyn-syms", " DEFAULT ")) {
      std::istringstream words(line);
      std::string skipped, section, name;
      for (int i = 0; i < 6; ++i) words >> skipped;
      words >> section >> name;
      if (!name.empty()) found.push_back({name.substr(0, name.find('@')), section != "UND"});
    }
    return found;
  }

  static Names names(bool defined) {
    Names found;
    for (const Symbol& symbol : symbols()) {
      if (symbol.is_defined == defined) found.insert(symbol.name);
    }
    return found;
  }

  static bool has(const std::vector<std::string>& lines, const std::string& part) {
    return std::ranges::any_of(
        lines, [&part](const auto& line) { return line.find(part) != std::string::npos; });
  }
};

// What it needs would have to fit musl's loader, too.
TEST_F(PreloadLibrary, NeedsNoLibrary) {
  EXPECT_TRUE(lines("-d", "(NEEDED)").empty());
}

// A version would be one of glibc's.
TEST_F(PreloadLibrary, ImportsNoVersion) {
  EXPECT_TRUE(lines("-V", "Version needs").empty());
}

TEST_F(PreloadLibrary, ShowsTheEntryPointsAndNothingElse) {
  EXPECT_EQ(names(true), kEntryPoints);
}

// The program's own allocator is found with dlsym: an import of malloc would be one of libc's, or
// of whoever comes first.
TEST_F(PreloadLibrary, ImportsNothingThatAllocates) {
  EXPECT_TRUE(names(false).contains("dlsym"));
  for (const std::string& name : names(false)) {
    EXPECT_TRUE(kImports.contains(name)) << name << ": does it allocate, or lock? If not, list it";
  }
}

// A dynamic model would allocate at a thread's first access.
TEST_F(PreloadLibrary, HasItsThreadLocalStateInPlaceFromTheStart) {
  EXPECT_TRUE(has(lines("-d", "(FLAGS)"), "STATIC_TLS"));
  EXPECT_FALSE(names(false).contains("__tls_get_addr"));
  EXPECT_TRUE(lines("-r", "DTPMOD").empty());
  EXPECT_TRUE(lines("-r", "TLSDESC").empty());
}

// A constructor would come too late to set anything up: that of another library may have called
// malloc before. The only one registers with libc what runs at a fork.
TEST_F(PreloadLibrary, RunsOneFunctionBeforeItsFirstCall) {
  const auto constructors = lines("-S", ".init_array");
  ASSERT_EQ(constructors.size(), 1u);
  EXPECT_TRUE(has(constructors, " 000008 08 ")) << constructors[0];
  EXPECT_TRUE(has(lines("-d", "(FLAGS_1)"), "INITFIRST"));  // before those of other libraries
  EXPECT_TRUE(lines("-S", ".ctors").empty());
  EXPECT_TRUE(lines("-d", "(INIT)").empty());
}

TEST_F(PreloadLibrary, MakesNoStackExecutable) {
  const auto stack = lines("-l", "GNU_STACK");
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_TRUE(has(stack, " RW ")) << stack[0];
  EXPECT_FALSE(has(stack, "RWE")) << stack[0];
}

// Lazy binding takes the loader's lock at a first call; unloading would take the functions away
// that others hold on to.
TEST_F(PreloadLibrary, IsBoundAtOnceAndStays) {
  const auto flags = lines("-d", "(FLAGS_1)");
  EXPECT_TRUE(has(flags, "NOW"));
  EXPECT_TRUE(has(flags, "NODELETE"));
}

TEST_F(PreloadLibrary, NamesNoFolderOfTheBuild) {
  EXPECT_TRUE(lines("-d", "RPATH").empty());
  EXPECT_TRUE(lines("-d", "RUNPATH").empty());
}

}  // namespace
}  // namespace heaptape::tests
