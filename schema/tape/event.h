// One recorded call, and what is known about the process while it ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address/address_range.h"
#include "schema/owned_memory.h"
#include "schema/tape/mapping_op.h"
#include "schema/tape/op.h"
#include "schema/tape/stack.h"
#include "schema/tape/steering_op.h"

namespace heaptape::schema {

// A call to the allocator, in the order of the tape. Sizes and alignments are bytes as the program
// asked for them; calloc and reallocarray give the product (UINT64_MAX where it overflows).
struct Event {
  Op op = Op::kMalloc;
  uint32_t thread = 0;         // dense index, 0 = the first thread that allocated
  uint64_t size = 0;           // 0 for releases
  uint64_t alignment = 0;      // 0 unless op_info(op).aligned
  uint64_t address = 0;        // what the call returned; 0 = it failed, or it returns nothing
  uint64_t freed_address = 0;  // the block given up by a release or a resize; 0 = NULL was passed

  bool operator==(const Event&) const = default;
};

// realloc(p, 0) that returned NULL is glibc's way of freeing.
constexpr bool frees_by_resize(const Event& event) {
  return op_info(event.op).kind == OpKind::kResize && event.size == 0 && event.address == 0 &&
         event.freed_address != 0;
}

// A call that should have returned a block and did not. Its old block, if any, stays alive.
constexpr bool is_failed(const Event& event) {
  return op_info(event.op).kind != OpKind::kRelease && event.address == 0 &&
         !frees_by_resize(event);
}

// "After `event` calls, this much time had passed." Two samples at one event are a pause.
struct TimeSample {
  uint64_t event = 0;    // number of calls so far
  uint64_t time_ns = 0;  // since the recording of this process began

  bool operator==(const TimeSample&) const = default;
};

// "After `event` calls, this thread ended": it makes no more.
struct ThreadEnd {
  uint64_t event = 0;   // number of calls so far
  uint32_t thread = 0;  // dense index, as in Event

  bool operator==(const ThreadEnd&) const = default;
};

// "After `event` calls, the program told its allocator what to do": mallopt(3), malloc_trim(3) and
// the like. Only calls that succeeded.
struct SteeringCall {
  uint64_t event = 0;   // number of calls so far
  uint32_t thread = 0;  // dense index, as in Event
  SteeringOp op = SteeringOp::kMallopt;
  // As the program gave them; 0 where the op has fewer. Those of a mallctl: the index in its name,
  // if it has one, and the value written.
  int64_t first = 0;
  int64_t second = 0;

  bool operator==(const SteeringCall&) const = default;
};

// Of lasting ones: the later call takes the place of the other.
constexpr bool is_same_setting(const SteeringCall& a, const SteeringCall& b) {
  // The first of two arguments says which of several settings.
  return a.op == b.op && (steering_info(a.op).arguments < 2 || a.first == b.first) &&
         (!is_of_a_thread(a.op) || a.thread == b.thread);
}

// "After `event` calls, the program mapped memory itself", or unmapped it: mmap(2), munmap(2),
// mprotect(2), madvise(2), brk(2). Without calls that malloc made, and those that failed, but for
// some of munmap(2). mremap(2) is an unmapping and a mapping.
struct MappingCall {
  uint64_t event = 0;   // number of calls so far
  uint32_t thread = 0;  // dense index, as in Event
  MappingOp op = MappingOp::kMap;
  base::AddressRange range;  // that it names or returns; begins below base::kAddressLimit
  // Of kMap the protection, and above 32 bits the flags; of kProtect the protection; of kAdvise the
  // advice.
  uint64_t detail = 0;
  FrameNumber stack = 0;  // of the call; 0: not recorded

  bool operator==(const MappingCall&) const = default;
};

// A mark's name has letters, digits, '-', '_' and '.', and begins with a letter or a digit, so that
// it can be part of a metric's name, and an argument on a command line.
inline constexpr size_t kMaxMarkBytes = 64;
constexpr bool is_mark_name(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (name.empty() || name.size() > kMaxMarkBytes || !is_alphanumeric(name[0])) return false;
  for (const char c : name) {
    if (!is_alphanumeric(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

// "After `event` calls, somebody named this moment NAME", with `heaptape ctl`.
struct Mark {
  uint64_t event = 0;    // number of calls so far
  uint64_t time_ns = 0;  // since the recording of this process began
  std::string name;      // is_mark_name

  bool operator==(const Mark&) const = default;
};

// What else /proc/PID tells of the memory of a process, in bytes: proc_pid_status(5).
struct ProcessParts {
  // The part of the anonymous memory that is in malloc's mappings. Nothing: the recorder could not
  // look at the pages, or is of a version that did not.
  std::optional<uint64_t> malloc_bytes;
  uint64_t file_bytes = 0;    // resident pages of files (RssFile)
  uint64_t shared_bytes = 0;  // resident shared memory (RssShmem)
  uint64_t peak_bytes = 0;    // the most that was resident in all, so far (VmHWM); 0: not known
  // The part of the anonymous memory in stacks of threads, beside malloc's mappings. Threads that
  // never called malloc are not known. Nothing: as malloc_bytes, or of an earlier version.
  std::optional<uint64_t> stack_bytes = {};
  uint64_t huge_bytes = 0;  // pages of hugetlbfs, which are in no other of these (HugetlbPages)
  // The parts of the anonymous memory that are neither malloc's nor in stacks, by owner, the most
  // bytes first. Memory without a known owner is in none. Empty where malloc_bytes is nothing.
  std::vector<OwnedMemory> owners = {};

  bool operator==(const ProcessParts&) const = default;
};

// What the collector saw of the process from outside, after `event` calls.
struct ProcessSample {
  uint64_t event = 0;
  uint64_t time_ns = 0;         // since the recording of this process began
  uint64_t resident_bytes = 0;  // anonymous memory of the whole process (RssAnon and VmSwap)
  std::vector<base::AddressRange> regions;  // writable anonymous mappings that hold a live block
  ProcessParts parts = {};

  ProcessSample without_regions() const { return {event, time_ns, resident_bytes, {}, parts}; }
  bool operator==(const ProcessSample&) const = default;
};

}  // namespace heaptape::schema
