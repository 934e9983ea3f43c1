#include "recorder/collector/collector.h"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "recorder/ring/stamp.h"
#include "schema/version.h"

namespace heaptape::recorder {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
// A ring that fills wakes us; this bounds how coarse the times of a slow program get.
constexpr uint64_t kMaxSleepNs = 10 * kMillisecond;
constexpr uint64_t kCheckEveryNs = 5 * kMillisecond;
constexpr uint64_t kSweepEveryNs = 100 * kMillisecond;
// Samples of a process: soon at first, then ever more rarely, and never more than 2 % of our time.
constexpr uint64_t kFirstSampleNs = 2 * kMillisecond;
constexpr uint64_t kMaxSampleEveryNs = 100 * kMillisecond;
constexpr uint64_t kSampleCostFactor = 50;

uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

bool is_readable(int descriptor) {
  pollfd wait{descriptor, POLLIN, 0};
  return descriptor >= 0 && poll(&wait, 1, 0) == 1;
}

// A name fit for a file name.
std::string plain_name(const std::string& executable) {
  std::string name = executable.substr(executable.rfind('/') + 1);
  if (const size_t deleted = name.find(' '); deleted != std::string::npos) name.resize(deleted);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '+') c = '_';
  }
  return name.empty() ? "process" : name;
}

}  // namespace

struct Collector::Recorded {
  Recorded(SessionView session, uint32_t slot, std::unique_ptr<schema::TapeWriter> writer,
           std::string path, ProcessIdentity process_identity)
      : recorder(session, slot, std::move(writer), monotonic_ns()),
        tape_path(std::move(path)),
        identity(std::move(process_identity)) {}
  ~Recorded() {
    if (pidfd >= 0) close(pidfd);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  ProcessRecorder recorder;
  std::string tape_path;
  ProcessIdentity identity;
  int pidfd = -1;  // -1: we cannot see its end (another pid namespace)
  bool is_glibc = false;
  size_t manifest_index = 0;
  uint64_t next_sample_ns = 0;
  uint64_t sample_every_ns = kFirstSampleNs;
};

Collector::Collector(SessionMemory& memory, Doorman& doorman, CollectorOptions options)
    : memory_(memory),
      session_(memory.view()),
      doorman_(doorman),
      options_(std::move(options)),
      ring_owner_(kRings, kProcessSlots) {
  recording_.manifest.command = options_.command;
}

Collector::~Collector() = default;

void Collector::wake() {
  auto& sleep = session_.header().collector_sleep;
  sleep.store(CollectorSleep::kAwake);
  syscall(SYS_futex, &sleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

Recording Collector::run(int target_pid) {
  target_pid_ = target_pid;
  std::optional<TargetEnd> end;
  while (!end) {
    const uint64_t now_ns = monotonic_ns();
    const uint64_t events = drain_all(now_ns);
    const bool more_to_write = step_writers();
    sample_due(now_ns);
    if (now_ns >= next_check_ns_) {
      check_ends(now_ns);
      end = poll_target(target_pid_);
      next_check_ns_ = now_ns + kCheckEveryNs;
    }
    if (now_ns >= next_sweep_ns_) sweep_rings(now_ns);
    if (events == 0 && !more_to_write && !end) sleep_until_needed();
  }
  recording_.target_end = *end;
  finish_all();
  return std::move(recording_);
}

// New processes and rings. Called between taking the cut of a drain and reading the rings, so that
// whatever happened before the cut is in a ring that is known.
void Collector::adopt_claims() {
  const uint32_t claims = session_.header().claims.load(std::memory_order_acquire);
  if (claims == seen_claims_) return;
  seen_claims_ = claims;
  for (uint32_t slot = 0; slot < kProcessSlots; ++slot) {
    if (session_.process(slot).state.load(std::memory_order_acquire) == SlotState::kRunning &&
        !processes_.contains(slot)) {
      adopt_process(slot);
    }
  }
  for (uint32_t index = 0; index < kRings; ++index) {
    const RingHeader& ring = session_.ring(index);
    if (ring_owner_[index] != kProcessSlots ||
        ring.state.load(std::memory_order_acquire) != RingState::kOwned) {
      continue;
    }
    const auto owner = processes_.find(ring.process_slot);
    if (owner == processes_.end()) continue;
    owner->second->recorder.add_ring(index);
    ring_owner_[index] = owner->first;
  }
}

void Collector::adopt_process(uint32_t index) {
  const ProcessSlot& slot = session_.process(index);
  const bool forked = (slot.flags & kSlotForked) != 0;
  const auto parent = processes_.find(slot.parent_slot);
  ProcessIdentity identity;
  if (forked && parent != processes_.end()) {
    identity = parent->second->identity;
    identity.parent_pid = identity.pid;
  } else if (auto seen = doorman_.take_identity(slot.pid)) {
    identity = std::move(*seen);
  } else {
    identity = identify_process(slot.pid);
  }
  identity.pid = slot.pid;
  if (!forked) {  // exec: the image that had this pid is no more
    for (auto& [other_slot, other] : processes_) {
      if (other->identity.pid == slot.pid) {
        other->recorder.drain(ProcessRecorder::kEverything, monotonic_ns());
        finish(*other, schema::EndReason::kReplaced, 0);
        other->recorder.free_slot();
        std::ranges::replace(ring_owner_, other_slot, kProcessSlots);
        processes_.erase(other_slot);
        break;
      }
    }
  }
  char allocator[kAllocatorPathBytes];
  std::copy_n(slot.allocator_path, kAllocatorPathBytes, allocator);
  allocator[kAllocatorPathBytes - 1] = 0;
  schema::TapeHeader header;
  header.writer = std::string("heaptape ") + schema::kVersion;
  header.command_line = identity.command_line;
  header.executable = identity.executable;
  header.allocator = allocator;
  header.pid = identity.pid;
  header.parent_pid = identity.parent_pid;
  header.page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  header.start_unix_ns = clock_ns(CLOCK_REALTIME);
  header.initial_break = slot.initial_break;
  header.clock = session_.header().clock == Clock::kTsc ? schema::StampClock::kTsc
                                                        : schema::StampClock::kCounter;
  std::string path = tape_path_for(identity);
  auto writer = schema::TapeWriter::create(path, header);
  if (!writer.ok()) {
    recording_.failures.push_back(writer.error().message);
    writer = schema::TapeWriter::create("/dev/null", header);  // keep draining: nobody may stall
    if (!writer.ok()) return;
  }
  auto recorded = std::make_unique<Recorded>(session_, index, std::move(*writer), std::move(path),
                                             std::move(identity));
  if ((slot.flags & kSlotForeignPids) == 0 || !forked) {
    recorded->pidfd = static_cast<int>(syscall(SYS_pidfd_open, slot.pid, 0));
  }
  recorded->is_glibc = schema::is_glibc(header.allocator);
  recorded->manifest_index = recording_.manifest.processes.size();
  recording_.manifest.processes.emplace_back();
  processes_.emplace(index, std::move(recorded));
}

// TAPE for the first process; STEM.PID.NAME.tape for the others.
std::string Collector::tape_path_for(const ProcessIdentity& identity) {
  if (first_process_) {
    first_process_ = false;
    return options_.tape_path;
  }
  std::filesystem::path path(options_.tape_path);
  const std::string extension = path.extension() == ".tape" ? ".tape" : "";
  const std::string stem =
      extension.empty() ? path.string() : (path.parent_path() / path.stem()).string();
  const std::string base =
      stem + "." + std::to_string(identity.pid) + "." + plain_name(identity.executable);
  const auto taken = [this](const std::string& candidate) {
    return std::ranges::any_of(recording_.manifest.processes,
                               [&](const auto& process) {
                                 return process.tape == std::filesystem::path(candidate).filename();
                               }) ||
           std::ranges::any_of(processes_, [&](const auto& process) {
             return process.second->tape_path == candidate;
           });
  };
  std::string candidate = base + ".tape";
  for (int i = 2; taken(candidate); ++i) candidate = base + "." + std::to_string(i) + ".tape";
  return candidate;
}

uint64_t Collector::drain_all(uint64_t now_ns) {
  const uint64_t cut = stamp_now(session_.header());
  adopt_claims();
  uint64_t events = 0;
  for (auto& [slot, recorded] : processes_) events += recorded->recorder.drain(cut, now_ns);
  return events;
}

bool Collector::step_writers() {
  bool more = false;
  for (auto& [slot, recorded] : processes_) more |= recorded->recorder.writer().step();
  return more;
}

void Collector::sample_due(uint64_t now_ns) {
  for (auto& [slot, recorded] : processes_) {
    if (recorded->next_sample_ns == 0) recorded->next_sample_ns = now_ns + kFirstSampleNs;
    if (now_ns < recorded->next_sample_ns) continue;
    const uint64_t begin_ns = monotonic_ns();
    auto sample =
        sample_process(recorded->identity.pid, recorded->recorder.live_set(), recorded->is_glibc);
    const uint64_t end_ns = monotonic_ns();
    if (sample) recorded->recorder.add_sample(std::move(*sample), begin_ns);
    recorded->sample_every_ns =
        std::max(std::min(recorded->sample_every_ns * 3 / 2, kMaxSampleEveryNs),
                 (end_ns - begin_ns) * kSampleCostFactor);
    recorded->next_sample_ns = end_ns + recorded->sample_every_ns;
  }
}

// Finishes the tapes of processes that are gone. The target itself is left to run().
void Collector::check_ends(uint64_t now_ns) {
  for (auto it = processes_.begin(); it != processes_.end();) {
    Recorded& recorded = *it->second;
    const bool is_target = recorded.identity.pid == static_cast<uint32_t>(target_pid_);
    if (is_target || !is_readable(recorded.pidfd)) {
      ++it;
      continue;
    }
    recorded.recorder.drain(ProcessRecorder::kEverything, now_ns);
    finish(recorded, schema::EndReason::kExited, -1);
    recorded.recorder.free_slot();
    std::ranges::replace(ring_owner_, it->first, kProcessSlots);
    it = processes_.erase(it);
  }
}

void Collector::sweep_rings(uint64_t now_ns) {
  next_sweep_ns_ = now_ns + kSweepEveryNs;
  for (auto& [slot, recorded] : processes_) {
    if ((session_.process(slot).flags & kSlotForeignPids) != 0) continue;
    const auto pid = static_cast<int>(recorded->identity.pid);
    const auto freed = recorded->recorder.free_dead_rings([pid](uint32_t tid) {
      return syscall(SYS_tgkill, pid, static_cast<int>(tid), 0) != 0 && errno == ESRCH;
    });
    for (const uint32_t index : freed) ring_owner_[index] = kProcessSlots;
  }
}

bool Collector::rings_are_empty() const {
  return std::ranges::all_of(processes_,
                             [](const auto& entry) { return entry.second->recorder.idle(); });
}

// Until a ring is half full, a process comes or ends, or it is time for the next look.
void Collector::sleep_until_needed() {
  auto& sleep = session_.header().collector_sleep;
  sleep.store(CollectorSleep::kAsleep);
  const bool news = session_.header().claims.load() != seen_claims_;
  if (!news && rings_are_empty()) {
    const timespec limit{0, static_cast<long>(kMaxSleepNs)};
    syscall(SYS_futex, &sleep, FUTEX_WAIT, CollectorSleep::kAsleep, &limit, nullptr, 0);
  }
  sleep.store(CollectorSleep::kAwake);
}

void Collector::finish(Recorded& recorded, schema::EndReason reason, int32_t status) {
  schema::TapeSummary summary = recorded.recorder.collect_summary(monotonic_ns());
  summary.end_reason = reason;
  summary.end_status = status;
  const auto written = recorded.recorder.writer().finish(summary);
  if (!written.ok()) {
    recording_.failures.push_back(written.error().message);
  } else if (written->end_reason == schema::EndReason::kDiskFull) {
    recording_.failures.push_back("the disk is full: '" + recorded.tape_path +
                                  "' holds the first " + std::to_string(written->events) +
                                  " events, " + std::to_string(written->losses.lost_events) +
                                  " are lost");
  }
  schema::ManifestProcess& process = recording_.manifest.processes[recorded.manifest_index];
  process.tape = std::filesystem::path(recorded.tape_path).filename();
  process.pid = recorded.identity.pid;
  process.parent_pid = recorded.identity.parent_pid;
  process.executable = recorded.identity.executable;
  process.command_line = recorded.identity.command_line;
  process.events = written.ok() ? written->events : 0;
  process.bytes = recorded.recorder.writer().bytes();
  process.lost_events = written.ok() ? written->losses.lost_events : 0;
  process.ended = schema::describe(written.ok() ? written->end_reason : reason);
}

void Collector::finish_all() {
  session_.header().stopped = 1;
  adopt_claims();
  const uint64_t now_ns = monotonic_ns();
  for (auto& [slot, recorded] : processes_) {
    recorded->recorder.drain(ProcessRecorder::kEverything, now_ns);
    const bool is_target = recorded->identity.pid == static_cast<uint32_t>(target_pid_);
    const bool ended = is_target || is_readable(recorded->pidfd);
    const TargetEnd& end = recording_.target_end;
    if (is_target) {
      finish(*recorded, end.signalled ? schema::EndReason::kSignalled : schema::EndReason::kExited,
             end.status);
    } else {
      finish(*recorded, ended ? schema::EndReason::kExited : schema::EndReason::kRecordingStopped,
             -1);
    }
  }
  processes_.clear();
}

}  // namespace heaptape::recorder
