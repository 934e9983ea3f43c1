#include "allocators/native/native_backend.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "allocators/native/environment_names.h"
#include "allocators/native/glibc_heap.h"
#include "allocators/native/latency_summary.h"
#include "base/clock.h"
#include "base/elf_file.h"
#include "base/output_file.h"

namespace heaptape::allocators {
namespace {

using base::Error;

// The first op after op_begin from which sleeping threads may be due again, or op_end: they are
// checked every 100 ms of the tape, and jemalloc's threads wake no more often.
uint32_t next_look(const WorkerShared& shared) {
  constexpr double kLookNs = 100.0 * base::kMillisecondNs;
  const std::span points(shared.clock_points, shared.clock_point_count);
  const int64_t begin = shared.op_begin;
  double due_ns = -1;  // at the time of op_begin, which lies before points[i]
  for (size_t i = 1; i < points.size(); ++i) {
    const ClockPoint& before = points[i - 1];
    const ClockPoint& point = points[i];
    const auto ops = static_cast<double>(point.op - before.op);
    const auto ns = static_cast<double>(point.time_ns - before.time_ns);
    const auto before_ns = static_cast<double>(before.time_ns);
    if (due_ns < 0 && point.op >= begin) {
      const double share = ops > 0 ? static_cast<double>(begin - before.op) / ops : 1;
      due_ns = before_ns + std::max(share, 0.0) * ns + kLookNs;
    }
    if (due_ns < 0 || before_ns + ns < due_ns) continue;
    const double passed = std::max(due_ns - before_ns, 0.0) / ns;
    const auto op = before.op + 1 + static_cast<int64_t>(passed * ops);
    return static_cast<uint32_t>(std::clamp<int64_t>(op, begin + 1, shared.op_end));
  }
  return shared.op_end;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

constexpr uint64_t kMostNameBytes = 64 << 20;

// Whether the library has its own area in which the kernel tells each thread its processor (rseq,
// as Google's tcmalloc does). The kernel tells the running thread, not the one it pretends to be.
bool caches_by_processor(const std::string& library) {
  base::Descriptor file(open(library.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  const base::ElfFile elf(std::move(file));
  if (!elf.is_elf()) return false;
  for (const char* const names : {".dynstr", ".strtab"}) {
    const std::vector<uint8_t> bytes = elf.read_section(names, kMostNameBytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.find("__rseq_abi") != text.npos) return true;
  }
  return false;
}

// Empty if the driver can pretend to be any thread.
std::string why_lock_step(const WorkerShared& shared) {
  if (shared.can_borrow == 0) return "the processor or the kernel has no FSGSBASE";
  if (!caches_by_processor(shared.provider)) return "";
  return file_name(shared.provider) + " keeps caches for each processor";
}

}  // namespace

NativeBackend::NativeBackend(NativeOptions options) : options_(std::move(options)) {}

Result<std::vector<RegionEvent>> NativeBackend::start() {
  if (!options_.refusal.empty()) return unusable(options_.refusal);
  if (options_.library.find_first_of(": ") != std::string::npos) {
    return unusable("the loader takes no path with a colon or a blank; make a link to '" +
                    options_.library + "'");
  }
  HEAPTAPE_ASSIGN_OR_RETURN(
      worker_,
      WorkerProcess::start(options_.name, {.preload = options_.library,
                                           .environment = options_.environment,
                                           .break_phase = break_phase(options_.recorded_break),
                                           .touch = options_.touch,
                                           .answers = options_.answers,
                                           .calls = options_.calls,
                                           .threads = options_.threads,
                                           .clock = options_.clock,
                                           .patience_ms = options_.patience_ms}));
  HEAPTAPE_RETURN_IF_ERROR(check_provider());
  WorkerShared& shared = worker_->shared();
  if (shared.threads == Threads::kOrdered) why_lock_step_ = why_lock_step(shared);
  if (!why_lock_step_.empty()) shared.threads = Threads::kLockStep;
  const auto family = shared.libc_serves_malloc != 0 ? MallocFamily::kGlibc : MallocFamily::kOther;
  traits_ = BackendTraits::of_malloc(family, shared.initial_break);
  traits_.is_foreign_code = options_.calls == Calls::kMade;
  traits_.places_blocks = traits_.is_foreign_code && options_.threads != Threads::kFree;
  memory_ = std::make_unique<MemoryTracker>(shared.initial_break);
  resident_.emplace(worker_->pid());
  std::vector<RegionEvent> events;
  take_memory_calls(0, events);
  return events;
}

Error NativeBackend::unusable(const std::string& why) const {
  return Error::target("cannot replay on '" + options_.name + "': " + why);
}

// The loader only warns if it cannot preload a library; libc's malloc would then be measured under
// another name.
Status NativeBackend::check_provider() {
  if (options_.calls == Calls::kLeftOut) return {};
  const WorkerShared& shared = worker_->shared();
  const std::string provider = shared.provider;
  if (options_.library.empty()) {
    if (shared.libc_serves_malloc != 0) return {};
    return unusable("malloc comes from " + provider +
                    ", not from libc; to replay on that library, write lib:PATH");
  }
  const bool by_path = options_.library.find('/') != std::string::npos;
  const bool served = by_path ? base::same_file(provider, options_.library)
                              : file_name(provider) == options_.library;
  if (!served) {
    const std::string said = worker_->messages();
    return unusable(said.empty() ? "it exports no malloc (malloc comes from " + provider + ")"
                                 : "the loader says: " + said);
  }
  const std::string missing = shared.missing;
  if (!missing.empty()) return unusable("it exports malloc but not " + missing);
  return {};
}

Status NativeBackend::submit(const ReplayBatch& batch) {
  batch_ = batch;
  given_ = 0;
  ends_given_ = 0;
  clock_.begin(batch);
  give_next();
  return {};
}

// Gives the worker as many of the remaining ops, and of the thread ends among them, as the shared
// memory holds.
void NativeBackend::give_next() {
  WorkerShared& shared = worker_->shared();
  size_t count = std::min<size_t>(batch_.ops.size() - given_, kMaxBatchOps);
  const auto op_of = [this](size_t end) {
    const uint64_t first = batch_.first_event + given_;
    const uint64_t event = std::max(batch_.thread_ends[end].event, first);
    return std::min<size_t>(event - first, batch_.ops.size() - given_);
  };
  uint32_t ends = 0;
  for (; ends_given_ < batch_.thread_ends.size() && op_of(ends_given_) <= count; ++ends_given_) {
    const size_t op = op_of(ends_given_);
    if (ends == kMaxThreadEnds) {
      count = op;  // the rest comes with the next turn
      break;
    }
    shared.ends[ends++] = {static_cast<uint32_t>(op),
                           static_cast<uint16_t>(batch_.thread_ends[ends_given_].thread)};
  }
  std::copy_n(batch_.ops.begin() + static_cast<ptrdiff_t>(given_), count, shared.ops);
  shared.clock_point_count = clock_.points(given_, count, shared.clock_points);
  shared.first_event = batch_.first_event + given_;
  shared.op_begin = 0;
  shared.op_end = static_cast<uint32_t>(count);
  shared.end_begin = 0;
  shared.end_end = ends;
  shared.slot_limit = batch_.slot_limit;
  if (shared.threads == Threads::kFree) {
    free_order_.prepare({shared.ops, count}, shared.waits);
    shared.slot_limit = std::max(free_order_.slot_limit(), 1u);
  }
  given_end_ = shared.op_end;
  give_turn();
}

// If the allocator's own threads sleep, the turn ends early enough for them to wake on time.
void NativeBackend::give_turn() {
  WorkerShared& shared = worker_->shared();
  shared.op_end = given_end_;
  if (shared.sleepers != 0) shared.op_end = next_look(shared);
  shared.current_op = shared.op_begin;  // for calls made before the worker has begun
  give(Turn::kRun);
}

void NativeBackend::give(Turn turn) {
  is_at_work_ = true;
  worker_->give(turn);
}

// Waits for the worker. An error carries the event of the op under way.
Status NativeBackend::await_op() {
  Status status = worker_->await();
  is_at_work_ = false;
  if (status.ok()) return {};
  has_failed_ = true;
  const uint64_t op = std::min(worker_->shared().current_op, worker_->shared().op_end);
  Error error = status.error();
  return std::move(error).at_event(batch_.first_event +
                                   std::min(given_ + op + 1, batch_.ops.size()));
}

// A batch takes several turns if it exceeds the shared memory, or if its memory calls fill their
// log.
Status NativeBackend::collect(BatchResult& result) {
  result.clear();
  if (options_.answers == Answers::kPlacements) result.placements.reserve(batch_.ops.size());
  WorkerShared& shared = worker_->shared();
  for (;;) {
    HEAPTAPE_RETURN_IF_ERROR(await_op());
    take_memory_calls(static_cast<uint32_t>(given_), result.regions);
    elapsed_ns_ += shared.elapsed_ns;
    elapsed_ticks_ += shared.elapsed_ticks;
    const double touch_ns = ns_per_tick() * static_cast<double>(shared.touch_ticks);
    result.elapsed_ns +=
        shared.elapsed_ns - std::min(shared.elapsed_ns, static_cast<uint64_t>(touch_ns));
    page_faults_ += shared.page_faults;
    if (options_.answers == Answers::kPlacements) {
      result.placements.insert(result.placements.end(), shared.placements + shared.op_begin,
                               shared.placements + shared.op_done);
    }
    if (shared.op_done < given_end_ || shared.end_done < shared.end_end) {
      shared.op_begin = shared.op_done;
      shared.end_begin = shared.end_done;
      give_turn();
      continue;
    }
    given_ += given_end_;
    if (given_ == batch_.ops.size() && ends_given_ == batch_.thread_ends.size()) return {};
    give_next();
  }
}

std::string NativeBackend::library() const {
  return options_.calls == Calls::kLeftOut ? "" : worker_->shared().provider;
}

std::string NativeBackend::threads() const {
  if (options_.threads == Threads::kMerged || options_.calls == Calls::kLeftOut) return "merged";
  if (options_.threads == Threads::kFree) return "free";
  const bool is_lock_step = worker_->shared().threads == Threads::kLockStep;
  return is_lock_step ? "ordered (lock step)" : "ordered";
}

void NativeBackend::take_memory_calls(uint32_t op_offset, std::vector<RegionEvent>& events) {
  WorkerShared& shared = worker_->shared();
  for (uint32_t i = 0; i < shared.memory_calls; ++i) {
    uint32_t op = op_offset + shared.calls[i].op;
    // Concurrent threads, including the allocator's own, log their calls in any order.
    if (!events.empty()) op = std::max(op, events.back().op);
    const MemoryCall& call = shared.calls[i];
    if (call.number == SYS_madvise) {
      resident_->forget({call.arguments[0], call.arguments[0] + call.arguments[1]});
      continue;
    }
    const size_t before = events.size();
    memory_->apply(call, op, events);
    for (const RegionEvent& event : std::span(events).subspan(before)) {
      resident_->forget(event.range);
    }
    if (events.size() == before) resident_->forget_all();  // it may have failed midway
    ++memory_calls_;
  }
  shared.memory_calls = 0;
  if (std::exchange(shared.gave_back_untold, 0) != 0) resident_->forget_all();
}

Result<Residency> NativeBackend::residency(std::span<const AddressRange> regions) {
  if (can_afford_mallinfo()) HEAPTAPE_RETURN_IF_ERROR(compare_with_mallinfo());
  // madvise by other allocators is not seen; that of the mallinfo2 turn is still in the log.
  const WorkerShared& shared = worker_->shared();
  if (shared.libc_serves_malloc == 0 || shared.memory_calls != 0) resident_->forget_all();
  auto residency = resident_->look(regions);
  if (residency.ok()) return residency;
  // If it was killed, report that, and for this run alone.
  if (Status lives = worker_->check_alive(); !lives.ok()) {
    has_failed_ = true;
    Error error = lives.error();
    return std::move(error).at_event(batch_.first_event + batch_.ops.size());
  }
  return residency;
}

Result<KeptMemory> NativeBackend::kept_memory(std::span<const AddressRange> gaps) {
  const WorkerShared& shared = worker_->shared();
  if (options_.calls != Calls::kMade || shared.libc_serves_malloc == 0) return KeptMemory();
  auto cached = read_kept_chunks(worker_->pid(), gaps, shared.initial_break);
  if (!cached) {
    cannot_read_heap_ = true;
    return KeptMemory();
  }
  return KeptMemory{.cached = std::move(*cached), .own = {}};
}

Result<std::optional<GivenBack>> NativeBackend::give_back_memory() {
  std::optional<GivenBack> given_back;
  if (options_.calls != Calls::kMade) return given_back;
  give(Turn::kGiveBack);
  HEAPTAPE_RETURN_IF_ERROR(await_op());
  if (worker_->shared().can_give_back == 0) return given_back;
  given_back.emplace();
  take_memory_calls(0, given_back->regions);
  given_back->elapsed_ns = worker_->shared().elapsed_ns;
  return given_back;
}

Result<Steered> NativeBackend::steer(const schema::SteeringCall& call) {
  Steered steered{.outcome = SteeringOutcome::kRepeated};
  if (options_.calls != Calls::kMade) return steered;
  WorkerShared& shared = worker_->shared();
  shared.steering_op = call.op;
  shared.steering_thread = static_cast<uint16_t>(call.thread);
  shared.steering_arguments[0] = call.first;
  shared.steering_arguments[1] = call.second;
  give(Turn::kSteer);
  HEAPTAPE_RETURN_IF_ERROR(await_op());
  take_memory_calls(0, steered.regions);
  steered.outcome = shared.steered;
  return steered;
}

std::vector<std::string> NativeBackend::notes() const {
  std::vector<std::string> notes;
  if (!why_lock_step_.empty()) notes.push_back("replayed in lock step: " + why_lock_step_);
  if (!no_statistics_.empty()) {
    notes.push_back("the allocator's own statistics and version are missing: " + no_statistics_);
  }
  if (cannot_read_heap_) {
    notes.emplace_back(
        "the worker's heap cannot be read (process_vm_readv): cached blocks count as holes, and "
        "the effect of a trim is overestimated");
  }
  const std::string provider = worker_->shared().provider;
  for (const std::string& name : unread_names(provider, options_.environment)) {
    notes.push_back("nothing in " + file_name(provider) + " reads " + name +
                    ": it has no effect here");
  }
  return notes;
}

std::string NativeBackend::output() {
  constexpr size_t kMostBytes = 1 << 20;
  if (worker_ == nullptr) return "";
  if (!has_failed_ && !is_at_work_) worker_->end();  // at work, it would not notice
  return worker_->messages(kMostBytes);
}

double NativeBackend::ns_per_tick() const {
  if (elapsed_ticks_ == 0) return 0;
  return static_cast<double>(elapsed_ns_) / static_cast<double>(elapsed_ticks_);
}

std::vector<LatencySummary> NativeBackend::latencies() const {
  return summarize_latencies(worker_->shared().latency, ns_per_tick());
}

void NativeBackend::forget_latencies() {
  for (auto& bands : worker_->shared().latency) std::ranges::fill(bands, LatencyHistogram());
}

double NativeBackend::stamp_ns() const {
  return worker_->shared().stamp_cost_ticks * ns_per_tick();
}

}  // namespace heaptape::allocators
