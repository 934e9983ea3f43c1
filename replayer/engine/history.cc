#include "replayer/engine/history.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "replayer/engine/batch_source.h"

namespace heaptape::replayer {
namespace {

using base::Result;
using base::Status;
using schema::Ancestor;
using schema::TapeReader;
using Runs = std::span<const std::unique_ptr<ReplayRun>>;

// The threads of ancestors as the replay numbers them. The one that forks is the first one of the
// child; the others have numbers that no thread of the tape has.
class ThreadNumbers {
 public:
  ThreadNumbers(const std::vector<Ancestor>& ancestors, uint32_t first_free)
      : first_of_(ancestors.size() + 1), next_(first_free) {
    for (size_t i = ancestors.size(); i-- > 0;) {
      first_of_[i] = ancestors[i].thread == 0 ? first_of_[i + 1] : next_++;
    }
  }

  // The next ancestor, whose thread `forks` makes the one after it.
  void enter(uint32_t forks) {
    forks_ = forks % kNumbers;
    numbers_.clear();
    ++entered_;
  }
  uint16_t of(uint32_t thread) {
    if (thread % kNumbers == forks_) return static_cast<uint16_t>(first_of_[entered_]);
    if (thread == 0) return static_cast<uint16_t>(first_of_[entered_ - 1]);
    const auto [number, is_new] = numbers_.try_emplace(thread, next_);
    next_ += is_new ? 1 : 0;
    return static_cast<uint16_t>(number->second);
  }

 private:
  static constexpr uint32_t kNumbers = uint32_t{UINT16_MAX} + 1;  // as ReplayOp has them

  std::vector<uint32_t> first_of_;  // by generation, the number of its first thread
  uint32_t next_;
  size_t entered_ = 0;
  uint32_t forks_ = 0;
  std::unordered_map<uint32_t, uint32_t> numbers_;  // of the other threads of this ancestor
};

// Takes runs through the calls of one ancestor.
class Generation {
 public:
  Generation(Runs runs, ThreadNumbers& threads, const Ancestor& ancestor, TapeReader& tape,
             uint64_t time_ns)
      : runs_(runs),
        threads_(threads),
        ancestor_(ancestor),
        tape_(tape),
        time_ns_(time_ns),
        joined_(tape.joined_blocks()) {
    threads_.enter(ancestor.thread);
  }

  // The blocks that the ancestor itself inherited are there, in `slots`. Returns the slots of
  // `bequeathed`, which are live at its fork.
  Result<SlotResolver::Slots> replay(const SlotResolver::Slots& slots,
                                     std::span<const schema::Event> bequeathed,
                                     const ReplayOptions& options) {
    const DeathTimes no_deaths;
    const uint64_t until = tape_.position_after(ancestor_.events).value_or(0);
    BatchSource source(tape_, until, options, no_deaths, slots);
    PlannedBatch batch;
    for (;;) {
      HEAPTAPE_ASSIGN_OR_RETURN(const bool is_there, source.next(batch));
      if (!is_there) break;
      if (batch.ops.first_event >= joined_) HEAPTAPE_RETURN_IF_ERROR(take(batch.ops));
    }
    HEAPTAPE_RETURN_IF_ERROR(end_threads(source));
    SlotResolver::Slots found = source.resolver().slots_of(bequeathed);
    if (std::ranges::count(found.of_blocks, base::AddressShadow::kNone) != 0) {
      return base::Error::damaged(base::quoted(ancestor_.path) +
                                  " has changed since it was opened");
    }
    return found;
  }

 private:
  Status take(ResolvedBatch& batch) {
    for (allocators::ReplayOp& op : batch.ops) {
      op.thread = threads_.of(op.thread);
      alive_.insert(op.thread);
    }
    // The tape of a forked process begins with the settings of its parent, which last.
    std::erase_if(batch.steering, [this](const schema::SteeringCall& call) {
      return joined_ != 0 && call.event <= joined_ && schema::is_inherited(call.op);
    });
    for (schema::SteeringCall& call : batch.steering) call.thread = threads_.of(call.thread);
    for (schema::ThreadEnd& end : batch.thread_ends) {
      end.thread = threads_.of(end.thread);
      alive_.erase(end.thread);
    }
    for (const auto& run : runs_) HEAPTAPE_RETURN_IF_ERROR(run->take_history(batch, time_ns_));
    return {};
  }

  // All but the one that forks.
  Status end_threads(const BatchSource& source) {
    ResolvedBatch end;
    end.first_event = source.events();
    end.slot_limit = source.resolver().slot_limit();
    for (const uint32_t thread : alive_) {
      if (thread != threads_.of(ancestor_.thread))
        end.thread_ends.push_back({end.first_event, thread});
    }
    if (end.thread_ends.empty()) return {};
    std::ranges::sort(end.thread_ends, {}, &schema::ThreadEnd::thread);
    for (const auto& run : runs_) HEAPTAPE_RETURN_IF_ERROR(run->take_history(end, time_ns_));
    return {};
  }

  Runs runs_;
  ThreadNumbers& threads_;
  const Ancestor& ancestor_;
  TapeReader& tape_;
  const uint64_t time_ns_;  // when it began, after the first ancestor
  const uint64_t joined_;   // calls of its tape that hand out what it inherited
  std::unordered_set<uint32_t> alive_;
};

}  // namespace

Result<SlotResolver::Slots> replay_history(const TapeReader& tape, Runs runs,
                                           allocators::Steer steer) {
  SlotResolver::Slots slots;
  const auto takes_part = [](const auto& run) { return run->takes_history(); };
  if (tape.joined_blocks() == 0 || std::ranges::none_of(runs, takes_part)) return slots;
  const std::vector<Ancestor> ancestors = tape.ancestors();
  const uint64_t start_ns = ancestors.front().start_unix_ns;
  const auto since_start = [start_ns](uint64_t unix_ns) {
    return unix_ns - std::min(unix_ns, start_ns);
  };
  constexpr uint32_t kManyThreads = 1024;  // where the tape does not say how many it has
  const uint64_t threads = tape.summary() ? tape.summary()->threads : kManyThreads;
  ThreadNumbers numbers(ancestors, static_cast<uint32_t>(std::max<uint64_t>(threads, 1)));
  ReplayOptions options;
  options.steer = steer;
  std::vector<TapeReader> tapes;
  for (const Ancestor& ancestor : ancestors) {
    HEAPTAPE_ASSIGN_OR_RETURN(auto opened,
                              TapeReader::open(ancestor.path, schema::OnDamage::kSkip));
    tapes.push_back(std::move(opened));
  }
  for (size_t i = 0; i < ancestors.size(); ++i) {
    Generation generation(runs, numbers, ancestors[i], tapes[i],
                          since_start(ancestors[i].start_unix_ns));
    const auto bequeathed = i + 1 < tapes.size() ? tapes[i + 1].joined() : tape.joined();
    HEAPTAPE_ASSIGN_OR_RETURN(slots, generation.replay(slots, bequeathed, options));
  }
  for (const auto& run : runs) {
    HEAPTAPE_RETURN_IF_ERROR(
        run->end_history(tape.joined_blocks(), since_start(tape.header().start_unix_ns)));
  }
  return slots;
}

}  // namespace heaptape::replayer
