#include "tests/support/exports.h"

#include <gtest/gtest.h>

#include "replayer/engine/slot_resolver.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

void count(replayer::StackProfile& profile) {
  const TempDir dir;
  write_stack_tape(dir.file("a.tape"));
  auto tape = schema::TapeReader::open(dir.file("a.tape"));
  ASSERT_TRUE(tape.ok());
  schema::EventBatch batch;
  replayer::SlotResolver resolver;
  replayer::ResolvedBatch resolved;
  ASSERT_TRUE(tape->read(batch, 100).ok());
  ASSERT_TRUE(resolver.resolve(batch.events, 0, resolved).ok());
  profile.add(batch, 0, resolved.ops);
}

}  // namespace

SampleStacks::SampleStacks(const replayer::SiteFilters& filters,
                           std::optional<replayer::Symbols> symbols)
    : stacks_(sample_stacks()), symbols_(symbols ? *symbols : sample_symbols()) {
  replayer::StackProfile profile(stacks_.limit());
  count(profile);
  shown_.emplace(stacks_, symbols_, *replayer::SiteRules::make(filters), profile);
}

const replayer::ShownStack* SampleStacks::find(uint64_t asked_bytes) const {
  for (const replayer::ShownStack& stack : shown_->list()) {
    if (stack.totals.asked_bytes == asked_bytes) return &stack;
  }
  return nullptr;
}

}  // namespace heaptape::tests
