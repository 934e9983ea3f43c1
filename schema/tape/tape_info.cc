#include "schema/tape/tape_info.h"

#include "base/display_text.h"
#include "base/number_text.h"
#include "schema/tape/malloc_library.h"

namespace heaptape::schema {
namespace {

constexpr size_t kMostNamedOwners = 4;
constexpr uint64_t kNamedShare = 20;

// " + libarrow 186 MiB + stacks 1.50 MiB + other 106 MiB". Invariant: the parts are `beside_bytes`.
std::string owners_text(uint64_t beside_bytes, std::optional<uint64_t> stack_bytes,
                        const std::vector<OwnedMemory>& owners,
                        const std::vector<InnerAllocator>& inner) {
  std::string text;
  uint64_t other_bytes = beside_bytes;
  const auto add = [&](const std::string& name, uint64_t bytes) {
    text += " + " + name + " " + base::bytes_text(bytes);
    other_bytes -= bytes;
  };
  for (size_t i = 0; i < owners.size() && i < kMostNamedOwners; ++i) {
    if (owners[i].bytes >= beside_bytes / kNamedShare) {
      add(base::display_text(owner_text(owners[i].owner, inner)), owners[i].bytes);
    }
  }
  if (stack_bytes) add("stacks", *stack_bytes);
  return other_bytes == 0 ? text : text + " + other " + base::bytes_text(other_bytes);
}

}  // namespace

std::string TapeHeader::allocator_family() const {
  const std::string& said = recorded_allocator.family;
  return said.empty() ? malloc_family(allocator) : said;
}

std::string name_of(const RecordedAllocator& allocator) {
  if (allocator.version.empty()) return allocator.family;
  return allocator.family + " " + allocator.version;
}

const char* name_of(Absent absent) {
  switch (absent) {
    case Absent::kThreads:
      return "threads";
    case Absent::kAddresses:
      return "addresses";
    case Absent::kAlignments:
      return "alignments";
    case Absent::kTimes:
      return "times";
    case Absent::kResizes:
      return "realloc as one call";
    case Absent::kEntryPoints:
      return "which function was called";
    case Absent::kFailures:
      return "calls that failed";
    case Absent::kSurvivors:
      return "blocks that were not freed";
  }
  return "something that this version does not know";
}

std::vector<std::string> absent_names(const TapeOrigin& origin) {
  std::vector<std::string> names;
  for (const Absent absent : kAllAbsent) {
    if (origin.lacks(absent)) names.emplace_back(name_of(absent));
  }
  return names;
}

const char* describe(EndReason reason) {
  switch (reason) {
    case EndReason::kExited:
      return "exited";
    case EndReason::kSignalled:
      return "ended by a signal";
    case EndReason::kReplaced:
      return "replaced by exec";
    case EndReason::kRecordingStopped:
      return "still running when the recording ended";
    case EndReason::kDiskFull:
      return "cut short: the disk was full";
    case EndReason::kRecovered:
      return "recovered from a damaged tape";
  }
  return "ended in a way this version does not know";
}

std::string memory_text(uint64_t anonymous_bytes, std::optional<uint64_t> malloc_bytes,
                        std::optional<uint64_t> stack_bytes, const std::vector<OwnedMemory>& owners,
                        const std::vector<InnerAllocator>& inner) {
  std::string text = base::bytes_text(anonymous_bytes) + " anonymous";
  if (!malloc_bytes) return text + ", of which malloc's part is not known";
  const uint64_t beside_bytes = anonymous_bytes - *malloc_bytes;
  text += " = malloc " + base::bytes_text(*malloc_bytes);
  if (!owners.empty()) return text + owners_text(beside_bytes, stack_bytes, owners, inner);
  const std::string stacks =
      stack_bytes ? " (stacks " + base::bytes_text(*stack_bytes) + ")" : std::string();
  return text + " + beside malloc " + base::bytes_text(beside_bytes) + stacks;
}

std::string memory_text(const ProcessSample& sample, const std::vector<InnerAllocator>& inner) {
  return memory_text(sample.resident_bytes, sample.parts.malloc_bytes, sample.parts.stack_bytes,
                     sample.parts.owners, inner);
}

std::string inner_calls_text(const std::vector<InnerAllocator>& files) {
  if (files.empty()) return "";
  std::string text = "calls to " + base::display_text(heaps_text(files.front().families)) +
                     " inside " + base::quoted(files.front().file);
  const size_t others = files.size() - 1;
  if (others != 0) text += " and to allocators inside " + base::counted(others, "other file");
  return text;
}

}  // namespace heaptape::schema
