#include "recorder/interposer/describe_allocator.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstring>

#include "base/mimalloc_version.h"
#include "recorder/interposer/library_of.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/ring/bounded_text.h"

// All three return a constant (gperftools 2: src/tcmalloc.cc; mimalloc 1 to 3: src/options.c).
// jemalloc's mallctl("version") would initialize it and take memory, so the collector reads its
// file.
extern "C" {
__attribute__((weak)) const char* gnu_get_libc_version();
__attribute__((weak)) int mi_version();
__attribute__((weak)) const char* tc_version(int* major, int* minor, const char** patch);
}

namespace heaptape::recorder {
namespace {

// "gperftools 2.10": the last word.
const char* last_word(const char* text) {
  if (text == nullptr) return "";
  const char* const blank = std::strrchr(text, ' ');
  return blank == nullptr ? text : blank + 1;
}

void describe_libc(AllocatorFacts& facts) {
  if (!is_glibc()) return copy_text(facts.libc, "musl");
  constexpr char kName[] = "glibc ";
  char version[kVersionBytes - (sizeof kName - 1)];
  copy_text(version, gnu_get_libc_version());
  std::memcpy(facts.libc, kName, sizeof kName - 1);
  std::memcpy(facts.libc + sizeof kName - 1, version, sizeof version);
}

// A function of another library describes that library: a program may use mimalloc beside malloc,
// or have a function of this name.
void describe_library(AllocatorFacts& facts, const void* library) {
  if (library_of(&getauxval) == library) {
    copy_text(facts.family, is_glibc() ? "glibc" : "musl");
    if (is_glibc()) copy_text(facts.version, gnu_get_libc_version());
  } else if (library_of(&mi_version) == library) {
    copy_text(facts.family, "mimalloc");
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the library has it
    base::write_mimalloc_version(facts.version, mi_version());
  } else if (library_of(&tc_version) == library) {
    copy_text(facts.family, "tcmalloc");
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the library has it
    copy_text(facts.version, last_word(tc_version(nullptr, nullptr, nullptr)));
  }
}

}  // namespace

AllocatorFacts describe_allocator(const void* malloc_function) {
  AllocatorFacts facts = {};
  describe_libc(facts);
  Dl_info info{};
  if (dladdr(malloc_function, &info) == 0 || info.dli_fname == nullptr) return facts;
  copy_text(facts.path, info.dli_fname);
  describe_library(facts, info.dli_fbase);
  return facts;
}

}  // namespace heaptape::recorder
