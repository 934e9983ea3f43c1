// dlopen and dlmopen, interposed because they can bypass a recording: a library opened with
// RTLD_DEEPBIND, or in a namespace of its own, calls its own malloc past the hooks. And dlclose,
// for the stacks: knowledge of the library's code becomes invalid.
#include <link.h>

#include "recorder/interposer/code_view.h"
#include "recorder/interposer/entry_points.h"
#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/interposer/notices.h"
#include "recorder/interposer/trampoline.h"

using namespace heaptape::recorder;  // NOLINT: the trampolines only know C names

namespace {

constexpr int kNoLoad = 4;  // RTLD_NOLOAD: the library is already loaded

// Joins the session if need be: the library may make its program's first call to malloc.
void note(Unrecorded reason, const char* library, int flags) {
  if (library == nullptr || (flags & kNoLoad) != 0) return;
  prepare_allocator();
  post_notice(reason, library, 1);
}

// The number of libraries unloaded so far.
uint64_t unloaded() {
  uint64_t count = 0;
  const auto read = [](dl_phdr_info* info, size_t, void* to) {
    *static_cast<uint64_t*>(to) = info->dlpi_subs;
    return 1;
  };
  dl_iterate_phdr(read, &count);
  return count;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void heaptape_note_deep_bind(
    const char* library, int flags) {
  if (is_glibc()) note(Unrecorded::kDeepBind, library, flags);
}

extern "C" __attribute__((visibility("hidden"), used)) void heaptape_note_namespace(
    long, const char* library, int flags) {
  note(Unrecorded::kNamespace, library, flags);
}

extern "C" __attribute__((visibility("hidden"), used)) void heaptape_find_openers();

// $8: RTLD_DEEPBIND.
HEAPTAPE_TRAMPOLINE(dlopen, heaptape_find_openers,
                    "  testl $8, %esi\n"
                    "  jz 1f\n" HEAPTAPE_KEEPING_ARGUMENTS("heaptape_note_deep_bind"));

// 0: LM_ID_BASE, the namespace of the program.
HEAPTAPE_TRAMPOLINE(dlmopen, heaptape_find_openers,
                    "  test %rdi, %rdi\n"
                    "  jz 1f\n" HEAPTAPE_KEEPING_ARGUMENTS("heaptape_note_namespace"));

HEAPTAPE_EXPORT int dlclose(void* library) {
  if (process.stack_frames == 0) return next_functions().dlclose(library);
  const uint64_t before = unloaded();
  const int result = next_functions().dlclose(library);
  if (unloaded() != before) forget_late_code();
  return result;
}

extern "C" void heaptape_find_openers() {
  heaptape_next_dlopen = reinterpret_cast<void (*)()>(next_functions().dlopen);
  heaptape_next_dlmopen = reinterpret_cast<void (*)()>(next_functions().dlmopen);
}
