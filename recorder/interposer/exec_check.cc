#include "recorder/interposer/exec_check.h"

#include <sys/stat.h>

#include <cstring>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/environment.h"
#include "recorder/program/preload_list.h"
#include "recorder/ring/bounded_text.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kMaxCandidate = 1024;
constexpr long kExecutable = 1;  // access(2), X_OK

bool names_our_library(const char* preload) {
  if (preload == nullptr) return false;
  for (PreloadList list(preload); list.next();) {
    if (list.is_ours()) return true;
  }
  return false;
}

bool is_runnable(const char* path) {
  struct stat info{};
  return raw_syscall(SYS_newfstatat, AT_FDCWD, as_long(path), as_long(&info), 0) == 0 &&
         S_ISREG(info.st_mode) &&
         raw_syscall(SYS_faccessat, AT_FDCWD, as_long(path), kExecutable) == 0;
}

// Finds the file of that name in PATH, skipping paths too long for us. False if there is none.
bool search_path(const char* name, char (&candidate)[kMaxCandidate]) {
  const char* path = find_variable(environment(), "PATH");
  if (path == nullptr) path = "/bin:/usr/bin";  // like glibc
  const size_t name_length = std::strlen(name);
  for (;;) {
    const size_t folder_length = std::strcspn(path, ":");
    if (folder_length + 1 + name_length < kMaxCandidate) {
      char* end = candidate;
      std::memcpy(end, path, folder_length);
      end += folder_length;
      if (folder_length != 0) *end++ = '/';
      std::memcpy(end, name, name_length + 1);
      if (is_runnable(candidate)) return true;
    }
    if (path[folder_length] == 0) return false;
    path += folder_length + 1;
  }
}

void set_verdict(Unrecorded reason, const char* path, Verdict* verdict) {
  verdict->reason = reason;
  copy_text(verdict->path, path);
}

void check_request(const ExecRequest& request, const char* preload, Verdict* verdict) {
  ProgramStart start{.path = request.path,
                     .argv = request.argv,
                     .preload = preload,
                     .folder = request.folder,
                     .shell_takes_text = request.searches};
  char candidate[kMaxCandidate];
  if (request.searches && std::strchr(request.path, '/') == nullptr) {
    if (!search_path(request.path, candidate)) return;
    start.path = candidate;
  }
  check_program(start, verdict);
}

// Abstract sockets belong to a network namespace, and so does a thread: a program executed outside
// of the recorder's could not join. If /proc does not tell, it may try.
bool left_the_network() {
  const uint64_t network = process.recording ? process.session.board().network : 0;
  struct stat info{};
  return network != 0 &&
         raw_syscall(SYS_newfstatat, AT_FDCWD, as_long("/proc/thread-self/ns/net"), as_long(&info),
                     0) == 0 &&
         info.st_ino != network;
}

// Whether the session follows programs that this process executes.
bool session_follows() {
  return process.recording && process.session.board().follow == Follow::kAll;
}

}  // namespace

void judge_exec(const ExecRequest& request, Verdict* verdict) {
  verdict->reason = Unrecorded::kNone;
  if (request.path == nullptr) return;
  const char* const preload = find_variable(request.environment, "LD_PRELOAD");
  const bool has_library = names_our_library(preload);
  if (has_library && process.quiet) {
    set_verdict(Unrecorded::kSystemCallFilter, request.path, verdict);
  } else if (has_library) {
    check_request(request, preload, verdict);
    if (verdict->reason == Unrecorded::kNone && left_the_network()) {
      set_verdict(Unrecorded::kNetwork, request.path, verdict);
    }
  }
  if (verdict->reason != Unrecorded::kNone || !session_follows()) return;
  if (!has_library || find_variable(request.environment, kSessionVariable) == nullptr) {
    set_verdict(Unrecorded::kEnvironment, request.path, verdict);
  }
}

std::optional<Ours> must_rewrite(const ExecRequest& request, const Verdict& verdict) {
  switch (verdict.reason) {
    case Unrecorded::kOwnMalloc:
    case Unrecorded::kEnvironment:
      return std::nullopt;
    case Unrecorded::kNone:
      break;
    default:
      return Ours::kOut;
  }
  const char* const preload = find_variable(request.environment, "LD_PRELOAD");
  if (!names_our_library(preload)) return std::nullopt;
  PreloadList list(preload);
  list.next();
  return list.is_ours() ? std::nullopt : std::optional(Ours::kFirst);
}

}  // namespace heaptape::recorder
