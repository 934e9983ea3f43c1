// The functions that execute programs, interposed: unrecordable programs run without us, with a
// notice. Each forwards to the next definition in lookup order, whose result and errno it keeps.
//
// Runs in children of fork and vfork, also of programs with many threads: no lock, no thread-local
// state (a vfork child would leave it to its parent), memory on the stack.
#include <sys/mman.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "recorder/interposer/descriptor_path.h"
#include "recorder/interposer/environment.h"
#include "recorder/interposer/exec_check.h"
#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/interposer/notices.h"
#include "recorder/ring/raw_syscall.h"

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

extern "C" char** environ;

namespace {

using Words = char* const*;

// Larger copies of the entries are mapped: in a vfork child, the mapping stays with the parent.
constexpr size_t kMaxOnStack = 8 << 10;

void* map_memory(size_t bytes) {
  const long base = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return base > 0 ? reinterpret_cast<void*>(base) : nullptr;
}

void unmap_memory(void* memory, size_t bytes) {
  raw_syscall(SYS_munmap, as_long(memory), static_cast<long>(bytes));
}

// Calls call(environment) with the program's environment, or with its caller's if there is no
// memory for another.
template <typename Call>
auto call_rewritten(const ExecRequest& request, const Verdict& verdict, Call call) {
  const auto ours = must_rewrite(request, verdict);
  if (!ours) return call(request.environment);
  const RewrittenEnvironment rewritten(request.environment, *ours);
  if (rewritten.bytes() <= kMaxOnStack) {
    return call(rewritten.write(__builtin_alloca(rewritten.bytes())));
  }
  void* const memory = process.quiet ? nullptr : map_memory(rewritten.bytes());
  if (memory == nullptr) return call(request.environment);
  const auto result = call(rewritten.write(memory));
  const int saved_errno = errno;
  unmap_memory(memory, rewritten.bytes());
  errno = saved_errno;
  return result;
}

// An exec that replaces this process: if it returns, it failed and nothing was lost.
template <typename Call>
int exec_judged(const ExecRequest& request, Call call) {
  Verdict verdict;
  judge_exec(request, &verdict);
  if (verdict.reason == Unrecorded::kNone) return call_rewritten(request, verdict, call);
  post_notice(verdict.reason, verdict.path, 1);
  const int result = call_rewritten(request, verdict, call);
  post_notice(verdict.reason, verdict.path, -1);
  return result;
}

// An exec that makes a child, and whose result says whether it did.
template <typename Call>
int spawn_judged(const ExecRequest& request, Call call) {
  Verdict verdict;
  judge_exec(request, &verdict);
  const int result = call_rewritten(request, verdict, call);
  if (result == 0 && verdict.reason != Unrecorded::kNone) {
    post_notice(verdict.reason, verdict.path, 1);
  }
  return result;
}

int exec_path(const char* path, Words argv, Words environment) {
  const ExecRequest request{path, argv, environment};
  return exec_judged(request, [&](Words e) { return next_functions().execve(path, argv, e); });
}

int exec_file(const char* file, Words argv, Words environment) {
  const ExecRequest request{file, argv, environment, AT_FDCWD, true};
  return exec_judged(request, [&](Words e) { return next_functions().execvpe(file, argv, e); });
}

// Counts the arguments from `first` up to the null.
size_t count_words(const char* first, va_list rest) {
  size_t count = 0;
  for (const char* word = first; word != nullptr; word = va_arg(rest, const char*)) ++count;
  return count;
}

// Writes the same arguments to an array; then `rest` is past the null.
char** write_words(const char* first, va_list rest, void* memory) {
  auto* const words = static_cast<char**>(memory);
  char** next = words;
  for (const char* word = first; word != nullptr; word = va_arg(rest, const char*)) {
    *next++ = const_cast<char*>(word);
  }
  *next = nullptr;
  return words;
}

DescriptorPath path_of(int descriptor) {
  return {descriptor, process.quiet ? DescriptorPath::Look::kNo : DescriptorPath::Look::kYes};
}

// system() and popen() run /bin/sh in `environ`, inside libc.
template <typename Call>
auto with_shell(Call call) {
  char** const before = environ;
  const ExecRequest request{"/bin/sh", nullptr, before};
  Verdict verdict;
  judge_exec(request, &verdict);
  if (verdict.reason != Unrecorded::kNone) post_notice(verdict.reason, verdict.path, 1);
  const auto ours = must_rewrite(request, verdict);
  if (!ours) return call();
  const RewrittenEnvironment rewritten(before, *ours);
  void* const memory = process.quiet ? nullptr : map_memory(rewritten.bytes());
  if (memory == nullptr) return call();
  char** const copy = environ = rewritten.write(memory);
  const auto result = call();
  // The program has changed its environment meanwhile: keep it.
  if (environ != copy) return result;
  environ = before;
  const int saved_errno = errno;
  unmap_memory(memory, rewritten.bytes());
  errno = saved_errno;
  return result;
}

}  // namespace

HEAPTAPE_EXPORT int execve(const char* path, Words argv, Words environment) {
  return exec_path(path, argv, environment);
}

HEAPTAPE_EXPORT int execv(const char* path, Words argv) {
  return exec_path(path, argv, environ);
}

HEAPTAPE_EXPORT int execvpe(const char* file, Words argv, Words environment) {
  return exec_file(file, argv, environment);
}

HEAPTAPE_EXPORT int execvp(const char* file, Words argv) {
  return exec_file(file, argv, environ);
}

// Defines `words`, the variadic arguments from `first` on, and `rest`, past them.
#define HEAPTAPE_COLLECT_WORDS(first)            \
  va_list rest;                                  \
  va_start(rest, first);                         \
  const size_t count = count_words(first, rest); \
  va_end(rest);                                  \
  va_start(rest, first);                         \
  char** const words = write_words(first, rest, __builtin_alloca((count + 1) * sizeof(char*)))

HEAPTAPE_EXPORT int execl(const char* path, const char* first, ...) {
  HEAPTAPE_COLLECT_WORDS(first);
  va_end(rest);
  return exec_path(path, words, environ);
}

HEAPTAPE_EXPORT int execlp(const char* file, const char* first, ...) {
  HEAPTAPE_COLLECT_WORDS(first);
  va_end(rest);
  return exec_file(file, words, environ);
}

HEAPTAPE_EXPORT int execle(const char* path, const char* first, ...) {
  HEAPTAPE_COLLECT_WORDS(first);
  const auto environment = va_arg(rest, Words);
  va_end(rest);
  return exec_path(path, words, environment);
}

HEAPTAPE_EXPORT int fexecve(int descriptor, Words argv, Words environment) {
  const DescriptorPath path = path_of(descriptor);
  return exec_judged({path.get(), argv, environment},
                     [&](Words e) { return next_functions().fexecve(descriptor, argv, e); });
}

HEAPTAPE_EXPORT int execveat(int folder, const char* path, Words argv, Words environment,
                             int flags) {
  const bool is_null = as_long(path) == 0;  // libc's headers say that it cannot be
  const bool by_descriptor = !is_null && *path == 0 && (flags & AT_EMPTY_PATH) != 0;
  const DescriptorPath descriptor = path_of(folder);
  const ExecRequest request{by_descriptor ? descriptor.get() : path, argv, environment,
                            by_descriptor ? AT_FDCWD : folder};
  return exec_judged(request, [&](Words e) {
    const long result = raw_syscall(SYS_execveat, folder, as_long(path), as_long(argv), as_long(e),
                                    flags);  // older libcs have no such function
    errno = static_cast<int>(-result);
    return -1;
  });
}

HEAPTAPE_EXPORT int posix_spawn(int* pid, const char* path, const void* actions,
                                const void* attributes, Words argv, Words environment) {
  return spawn_judged({path, argv, environment}, [&](Words e) {
    return next_functions().posix_spawn(pid, path, actions, attributes, argv, e);
  });
}

HEAPTAPE_EXPORT int posix_spawnp(int* pid, const char* file, const void* actions,
                                 const void* attributes, Words argv, Words environment) {
  return spawn_judged({file, argv, environment, AT_FDCWD, true}, [&](Words e) {
    return next_functions().posix_spawnp(pid, file, actions, attributes, argv, e);
  });
}

HEAPTAPE_EXPORT int system(const char* command) {
  if (command == nullptr) return next_functions().system(command);
  return with_shell([=] { return next_functions().system(command); });
}

HEAPTAPE_EXPORT FILE* popen(const char* command, const char* mode) {
  return with_shell([=] { return next_functions().popen(command, mode); });
}
