#include "replayer/sites/call_stacks.h"

#include <algorithm>
#include <optional>

#include "replayer/sites/sample_weight.h"

namespace heaptape::replayer {
namespace {

// Passing over this many calls takes no longer than decoding a chunk from its beginning.
constexpr uint64_t kNearCalls = 1 << 16;
constexpr size_t kBatchCalls = 4096;

// The stack of the call, if that made a block of the keyframe.
std::optional<schema::FrameNumber> stack_in(const schema::Keyframe* keyframe, uint64_t call) {
  if (keyframe == nullptr || keyframe->stacks.empty()) return std::nullopt;
  const auto birth = std::ranges::lower_bound(keyframe->births, call);
  if (birth == keyframe->births.end() || *birth != call) return std::nullopt;
  return keyframe->stacks[static_cast<size_t>(birth - keyframe->births.begin())];
}

}  // namespace

base::Result<bool> has_stacks(schema::TapeReader& tape) {
  schema::EventBatch batch;
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  do {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchCalls));
    const auto gives_a_block = [](const schema::Event& event) {
      return schema::op_info(event.op).kind != schema::OpKind::kRelease;
    };
    if (std::ranges::any_of(batch.events, gives_a_block)) break;
  } while (!batch.events.empty());
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  return !batch.stacks.empty();
}

base::Result<CallStacks> CallStacks::read(schema::TapeReader& tape, std::vector<uint64_t> calls,
                                          const schema::Keyframe* keyframe) {
  const SampleWeight weight(tape.header().stacks);
  CallStacks stacks(tape.header().stacks);
  std::ranges::sort(calls);
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  stacks.found_.resize(calls.size());
  schema::EventBatch batch;
  uint64_t batch_end = 0;  // calls up to the end of the batch
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  for (size_t i = 0; i < calls.size(); ++i) {
    const uint64_t index = calls[i] - 1;
    if (calls[i] == 0 || index >= tape.events()) continue;
    if (const auto known = stack_in(keyframe, calls[i]); known && !weight.is_sampled()) {
      stacks.found_[i] = {*known, 1};
      continue;
    }
    if (index >= batch_end + kNearCalls) {
      HEAPTAPE_RETURN_IF_ERROR(tape.seek(index));
      batch_end = index;
    }
    while (index >= batch_end) {
      HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchCalls));
      if (batch.events.empty()) break;
      batch_end = batch.first_event + batch.events.size();
    }
    if (index < batch.first_event || index - batch.first_event >= batch.stacks.size()) continue;
    const schema::FrameNumber stack = batch.stacks[index - batch.first_event];
    const uint64_t asked = batch.events[index - batch.first_event].size;
    const bool is_chosen = !weight.is_sampled() || stack != 0;
    stacks.found_[i] = {stack, is_chosen ? weight.of(asked) : 0, asked};
  }
  stacks.calls_ = std::move(calls);
  return stacks;
}

const CallStacks::Found* CallStacks::find(uint64_t call) const {
  const auto at = std::ranges::lower_bound(calls_, call);
  if (at == calls_.end() || *at != call) return nullptr;
  return &found_[static_cast<size_t>(at - calls_.begin())];
}

}  // namespace heaptape::replayer
