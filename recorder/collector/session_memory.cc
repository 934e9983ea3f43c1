#include "recorder/collector/session_memory.h"

#include <cpuid.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/output_file.h"

namespace heaptape::recorder {
namespace {

// Room for the headers and the first rings is claimed at once, so that want of memory shows here,
// as a sentence, and not in the middle of the program's run. The other rings come as they are used.
constexpr uint64_t kClaimedBytes = kRingWordsOffset + 8 * kRingBytes;

Error no_room(uint64_t bytes, const std::string& room, int errno_value) {
  Error error = base::os_error("no room for the " + std::to_string(bytes >> 20) +
                                   " MiB that a recording needs; raise " + room,
                               errno_value);
  error.code = ErrorCode::kNoSpace;
  return error;
}

// The memory as a file, as long as it will ever be and claimed as far as said above.
Result<int> create_file() {
  const int fd = memfd_create("heaptape-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return base::os_error("cannot make the shared memory of a recording", errno);
  Status status;
  if (ftruncate(fd, kSessionBytes) != 0) {
    status = no_room(kSessionBytes, "the limit on the size of files (ulimit -f)", errno);
  } else if (fallocate(fd, 0, 0, kClaimedBytes) != 0) {
    status = no_room(kClaimedBytes, "the limit on memory", errno);
  } else if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    status = base::os_error("cannot seal the shared memory of a recording", errno);
  }
  if (status.ok()) return fd;
  close(fd);
  return status.error();
}

bool has_invariant_tsc() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
}

}  // namespace

Clock choose_clock() {
  // The kernel drops the TSC as its clock when it finds processors that disagree.
  const auto source =
      base::read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", 64);
  const bool kernel_trusts =
      source.ok() && (source->starts_with("tsc") || source->starts_with("kvm-clock") ||
                      source->starts_with("hyperv_clocksource"));
  return has_invariant_tsc() && kernel_trusts ? Clock::kTsc : Clock::kCounter;
}

Result<std::unique_ptr<SessionMemory>> SessionMemory::create(const SessionOptions& options) {
  HEAPTAPE_ASSIGN_OR_RETURN(const int fd, create_file());
  void* base =
      mmap(nullptr, kSessionBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) {
    const int saved = errno;
    close(fd);
    return no_room(kSessionBytes, "the limit on address space (ulimit -v)", saved);
  }
  std::unique_ptr<SessionMemory> memory(new SessionMemory(fd, base));
  HEAPTAPE_RETURN_IF_ERROR(memory->initialise(options));
  return memory;
}

Status SessionMemory::initialise(const SessionOptions& options) {
  SessionHeader& header = view_.header();
  header.magic = kSessionMagic;
  header.layout_version = kLayoutVersion;
  header.follow = options.follow;
  header.on_full = options.on_full;
  header.clock = choose_clock();
  header.stamp_counter = 1;  // 0 means unstamped
  static_assert(sizeof(pthread_mutex_t) <= 64, "the lock has its cache line");
  auto* lock = reinterpret_cast<pthread_mutex_t*>(&header.collector_lock_word);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  const int failed = pthread_mutex_lock(lock);
  if (failed != 0) return base::os_error("cannot lock the session memory", failed);
  return {};
}

SessionMemory::~SessionMemory() {
  view_.header().stopped = 1;
  auto* lock = reinterpret_cast<pthread_mutex_t*>(&view_.header().collector_lock_word);
  pthread_mutex_unlock(lock);
  munmap(base_, kSessionBytes);
  close(descriptor_);
}

}  // namespace heaptape::recorder
