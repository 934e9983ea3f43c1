// A library whose functions and lines are known, and frames in it.
#pragma once

#include <cstdint>
#include <string>

#include "schema/tape/stack.h"

namespace heaptape::tests {

// A file made from symbols_target.cc. "whole.so" has debug information; "names.so" lacks it,
// "bare.so" and "linked.so" also lack the names of unexported symbols. All have one layout and one
// build-id, and so has "target.debug" with the parts they lack; the link of "linked.so" names it.
// "other.so" is from another build.
std::string symbol_target(const std::string& name);

// The line of symbols_target.cc with "// mark: NAME".
uint32_t marked_line(const std::string& name);

// The return address of the callback that `function` of whole.so calls.
uint64_t return_address_in(const char* function);

// The address of a symbol of whole.so in this process.
uint64_t address_of(const char* symbol);

// This process's mapping with this address, as in a recording.
schema::CodeMapping mapping_of(uint64_t address);

// The tape of a process that returned to `address` of whole.so, which it knew as `path`.
schema::Stacks stack_at(uint64_t address, const std::string& path);

}  // namespace heaptape::tests
