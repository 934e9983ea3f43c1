// The stacks of a tape, for tests that know them from elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heaptape::tests {

// Return addresses, from the innermost frame on. Of a stack that was cut the last one says why
// (schema::StackEnd).
using Addresses = std::vector<uint64_t>;
// By the bytes that were asked for, in order.
using StacksBySize = std::map<uint64_t, std::vector<Addresses>>;

// Of all calls on the tape that have a stack.
StacksBySize stacks_on_tape(const std::string& path);

// In hexadecimal, for messages.
std::string text(const Addresses& addresses);

}  // namespace heaptape::tests
