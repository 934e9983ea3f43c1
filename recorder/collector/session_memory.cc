#include "recorder/collector/session_memory.h"

#include <cpuid.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "base/output_file.h"

namespace heaptape::recorder {
namespace {

// A session has as many rings as our limits leave room for, but at least these.
constexpr uint32_t kFewestRings = 1u << 8;

std::string no_room_text(uint64_t bytes, const std::string& limit) {
  return "no room for the " + std::to_string(bytes >> 20) +
         " MiB that a recording needs; raise the limit on " + limit;
}

Error as_no_space(Error error) {
  error.code = ErrorCode::kNoSpace;
  return error;
}

Error no_room(uint64_t bytes, const std::string& limit) {
  const int failure = errno;
  return as_no_space(base::os_error(no_room_text(bytes, limit), failure));
}

Status allocate(int file, uint64_t begin, uint64_t bytes) {
  while (fallocate(file, 0, static_cast<off_t>(begin), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return no_room(bytes, "memory");  // tmpfs gives up for any signal
  }
  return {};
}

Result<base::Descriptor> create_file(const char* name, uint64_t bytes) {
  base::Descriptor file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return base::os_error("cannot make the shared memory of a recording", errno);
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return no_room(bytes, "the size of files (ulimit -f)");
  }
  return file;
}

Status seal(const base::Descriptor& file, int seals) {
  if (fcntl(file.get(), F_ADD_SEALS, seals) == 0) return {};
  return base::os_error("cannot seal the shared memory of a recording", errno);
}

Result<base::Mapping> map(const base::Descriptor& file, uint64_t bytes) {
  auto mapping =
      base::Mapping::shared(file.get(), bytes, no_room_text(bytes, "address space (ulimit -v)"));
  if (!mapping.ok()) return as_no_space(mapping.error());
  return mapping;
}

// Ticks of the TSC in a millisecond, good enough to bound a wait by; 0: it does not tick evenly.
uint64_t measure_ticks_per_ms(Clock clock) {
  if (clock != Clock::kTsc) return 0;
  const uint64_t begin_ns = base::monotonic_ns();
  const uint64_t begin = __rdtsc();
  uint64_t passed_ns = 0;
  while (passed_ns < base::kMillisecondNs) passed_ns = base::monotonic_ns() - begin_ns;
  return (__rdtsc() - begin) * base::kMillisecondNs / passed_ns;
}

bool has_invariant_tsc() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
}

}  // namespace

Clock choose_clock() {
  // The kernel stops using the TSC as its clock when it finds processors whose TSCs disagree.
  const auto source =
      base::read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", 64);
  const bool kernel_trusts =
      source.ok() && (source->starts_with("tsc") || source->starts_with("kvm-clock") ||
                      source->starts_with("hyperv_clocksource"));
  return has_invariant_tsc() && kernel_trusts ? Clock::kTsc : Clock::kCounter;
}

SessionMemory::SessionMemory(File board, File lobby, File pool, uint32_t rings)
    : board_(std::move(board)),
      lobby_(std::move(lobby)),
      common_(std::move(pool.mapping)),
      pools_({*static_cast<Board*>(board_.mapping.data()),
              lobby_.mapping.data(),
              {static_cast<char*>(common_.data()), 0, rings, PoolView::Mapped::kWhole}},
             std::move(pool.descriptor)) {}

Result<std::unique_ptr<SessionMemory>> SessionMemory::create(const SessionOptions& options) {
  // Others cannot write to the board; our mapping stays writable. Kernels before 5.1 do not know
  // this seal.
  HEAPTAPE_ASSIGN_OR_RETURN(File board,
                            create_shared(kBoardName, kBoardBytes, F_SEAL_FUTURE_WRITE));
  HEAPTAPE_ASSIGN_OR_RETURN(File lobby, create_shared(kLobbyName, kLobbyBytes, 0));
  uint32_t rings = kRings;
  auto pool = create_pool(rings);
  while (!pool.ok() && rings > kFewestRings) {
    rings /= 2;
    pool = create_pool(rings);
  }
  if (!pool.ok()) return pool.error();
  std::unique_ptr<SessionMemory> memory(
      new SessionMemory(std::move(board), std::move(lobby), std::move(*pool), rings));
  // The first ring of the first process has its memory at once, so that a lack of it shows here, as
  // a sentence, and not while the program runs. The others get theirs as they are used.
  const int first = memory->pools_.first().descriptor();
  HEAPTAPE_RETURN_IF_ERROR(allocate(first, 0, kFirstWordsOffset + kRingBytes));
  HEAPTAPE_RETURN_IF_ERROR(memory->initialise(options));
  return memory;
}

// With all its memory. The seals are tried.
Result<SessionMemory::File> SessionMemory::create_shared(const char* name, uint64_t bytes,
                                                         int seals) {
  HEAPTAPE_ASSIGN_OR_RETURN(base::Descriptor file, create_file(name, bytes));
  HEAPTAPE_RETURN_IF_ERROR(allocate(file.get(), 0, bytes));
  HEAPTAPE_ASSIGN_OR_RETURN(base::Mapping mapping, map(file, bytes));
  if (seals != 0) static_cast<void>(seal(file, seals));
  HEAPTAPE_RETURN_IF_ERROR(seal(file, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  return File{std::move(file), std::move(mapping)};
}

// The common one.
Result<SessionMemory::File> SessionMemory::create_pool(uint32_t rings) {
  HEAPTAPE_ASSIGN_OR_RETURN(base::Descriptor file, create_file(kPoolName, pool_bytes(rings)));
  HEAPTAPE_RETURN_IF_ERROR(seal(file, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  HEAPTAPE_ASSIGN_OR_RETURN(base::Mapping mapping, map(file, pool_bytes(rings)));
  return File{std::move(file), std::move(mapping)};
}

Status SessionMemory::initialise(const SessionOptions& options) {
  Board& board = view().board();
  board.magic = kSessionMagic;
  board.layout_version = kLayoutVersion;
  board.follow = options.follow;
  board.on_full = options.on_full;
  board.map_calls = options.map_calls;
  board.stack_frames = options.stack_frames;
  board.unwinding = options.unwinding;
  board.stack_bytes = options.stack_bytes;
  HEAPTAPE_CHECK(options.stack_sizes.size() <= kMostStackSizes);
  std::ranges::copy(options.stack_sizes, board.stack_sizes);
  board.clock = choose_clock();
  board.ticks_per_ms = measure_ticks_per_ms(board.clock);
  board.progress = 1;
  board.pause = options.awaits_start ? Pause::kBeforeStart : Pause::kNone;
  struct stat network{};
  if (stat("/proc/self/ns/net", &network) == 0) board.network = network.st_ino;
  view().lobby().stamp_counter = 1;  // 0 means unstamped
  static_assert(sizeof(pthread_mutex_t) <= 64, "the lock has its cache line");
  auto* lock = reinterpret_cast<pthread_mutex_t*>(&board.collector_lock_word);
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
  view().board().stopped = 1;
  // Takes the lock off the thread's list, in which there is no other. pthread_mutex_unlock would
  // follow pointers that recorded processes could overwrite before Linux 5.1.
  robust_list_head* list = nullptr;
  size_t bytes = 0;
  if (syscall(SYS_get_robust_list, 0, &list, &bytes) == 0) list->list.next = &list->list;
}

}  // namespace heaptape::recorder
