#include "schema/tape/inherited_heap.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include "base/display_text.h"
#include "schema/tape/live_blocks.h"
#include "schema/tape/manifest.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::schema {
namespace {

constexpr size_t kBatchEvents = 1 << 14;

base::Error no_heap(const Inheritance& inheritance, const std::string& reason) {
  return base::Error::damaged("the heap that it inherited is not known: its parent's tape, " +
                              base::quoted(inheritance.tape) + ", " + reason);
}

// `heaptape recover` numbers the calls behind damage anew.
bool has_other_numbers(const TapeReader& tape) {
  return tape.summary() && tape.summary()->end_reason == EndReason::kRecovered &&
         tape.summary()->losses.lost_events != 0;
}

// NAME.flush-3.tape of a child goes with the parent's of that number.
std::string copy_beside(const std::string& path, const std::string& parents) {
  constexpr std::string_view kEnd = ".tape";
  const size_t suffix = path.rfind(".flush-");
  if (suffix == std::string::npos || path.find('/', suffix) != std::string::npos) return parents;
  return parents.substr(0, parents.size() - (parents.ends_with(kEnd) ? kEnd.size() : 0)) +
         path.substr(suffix);
}

// While its process is recorded, a tape has another name.
base::Result<TapeReader> open_parents(const std::string& path, const Inheritance& inheritance,
                                      int generation) {
  const std::string whole = (std::filesystem::path(path).parent_path() / inheritance.tape).string();
  std::string reason = "is not beside it as it was recorded";
  for (const std::string& name : {copy_beside(path, whole), whole, whole + ".partial"}) {
    const auto found = TapeReader::open(name, OnDamage::kSkip, Inherited::kLeaveOut);
    if (!found.ok() || found->header().start_unix_ns != inheritance.start_unix_ns) continue;
    if (has_other_numbers(*found)) return no_heap(inheritance, "was repaired and lacks calls");
    const auto until = found->position_after(inheritance.events);
    if (until && found->own_events() >= *until) {
      return TapeReader::open(name, OnDamage::kSkip, Inherited::kJoin, generation + 1);
    }
    reason = until ? "ends before the fork" : "has its last calls only, which came after the fork";
  }
  return no_heap(inheritance, reason);
}

}  // namespace

base::Result<InheritedHeap> load_inherited_heap(const std::string& path,
                                                const Inheritance& inheritance, int generation) {
  if (!is_name_beside(inheritance.tape)) return no_heap(inheritance, "cannot be one");
  if (generation >= kMostAncestors) return no_heap(inheritance, "has too many ancestors");
  HEAPTAPE_ASSIGN_OR_RETURN(TapeReader tape, open_parents(path, inheritance, generation));
  const bool is_missing = tape.inheritance() && tape.inherited_blocks() == 0;
  if (is_missing && !tape.inherited_problem().empty()) {
    return base::Error::damaged(tape.inherited_problem());
  }
  const auto until = tape.position_after(inheritance.events);
  if (!until) return no_heap(inheritance, "has its last calls only, which came after the fork");
  if (tape.events() < *until) return no_heap(inheritance, "ends before the fork");
  InheritedHeap heap;
  heap.problem = tape.inherited_problem();
  if (heap.problem.empty() && tape.late_ns() != 0) {
    heap.problem = "the heap that it inherited is not known in full: its parent's tape, " +
                   base::quoted(inheritance.tape) + ", began late";
  }
  heap.ancestors = tape.ancestors();
  heap.ancestors.push_back(
      {tape.path(), inheritance.start_unix_ns, inheritance.events, inheritance.thread});
  if (tape.header().stacks.mode != StackMode::kNone) {
    HEAPTAPE_ASSIGN_OR_RETURN(heap.frames, tape.read_stacks());
    if (heap.frames.limit() > kMostFrames) heap.frames = {};
  }
  LiveBlocks live;
  EventBatch batch;
  for (uint64_t done = 0; done < *until;) {
    HEAPTAPE_RETURN_IF_ERROR(
        tape.read(batch, static_cast<size_t>(std::min<uint64_t>(kBatchEvents, *until - done))));
    if (batch.events.empty() || batch.first_event != done) {
      return no_heap(inheritance, "is damaged");
    }
    for (size_t i = 0; i < batch.events.size(); ++i) {
      live.add(batch.events[i], batch.stacks.empty() ? 0 : batch.stacks[i], ++done);
    }
    std::ranges::copy_if(batch.steering, std::back_inserter(heap.settings), is_inherited,
                         &SteeringCall::op);
  }
  for (SteeringCall& call : heap.settings) call.event = call.thread = 0;
  for (const LiveBlock& block : live.list()) {
    heap.blocks.push_back(block.birth);
    heap.blocks.back().thread = 0;
    if (heap.has_stacks()) heap.stacks.push_back(block.stack);
  }
  return heap;
}

}  // namespace heaptape::schema
