#include "tests/e2e/recorded_stacks.h"

#include <gtest/gtest.h>

#include <sstream>

#include "schema/tape/tape_reader.h"

namespace heaptape::tests {
namespace {

Addresses addresses_of(const schema::Stacks& stacks, schema::FrameNumber number) {
  Addresses addresses;
  for (const schema::Frame* frame = stacks.find(number); frame != nullptr;
       frame = stacks.find(frame->caller)) {
    addresses.push_back(frame->return_address);
  }
  return addresses;
}

}  // namespace

StacksBySize stacks_on_tape(const std::string& path) {
  StacksBySize result;
  auto tape = schema::TapeReader::open(path);
  const auto stacks = tape.ok() ? tape->read_stacks() : schema::Stacks();
  EXPECT_TRUE(tape.ok() && stacks.ok()) << path;
  if (!tape.ok() || !stacks.ok()) return result;
  schema::EventBatch batch;
  do {
    const auto read = tape->read(batch, 1000);
    EXPECT_TRUE(read.ok());
    if (!read.ok()) return result;
    for (size_t i = 0; i < batch.stacks.size(); ++i) {
      result[batch.events[i].size].push_back(addresses_of(*stacks, batch.stacks[i]));
    }
  } while (!batch.events.empty());
  return result;
}

std::string text(const Addresses& addresses) {
  std::ostringstream text;
  for (const uint64_t address : addresses) text << std::hex << address << " ";
  return text.str();
}

}  // namespace heaptape::tests
