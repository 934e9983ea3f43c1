// The file of unwind tables (recorder/unwind/code_map.h), as a recorded process sees it. Any
// thread.
#pragma once

#include <cstdint>

#include "recorder/unwind/code_map.h"

namespace heaptape::recorder {

// Maps the beginning of the file, which stays mapped, also in forked children. The caller owns the
// descriptor. Once, before there are threads to record.
void map_code_file(int descriptor);

// A code map and its file: an offset in the map counts from `file`.
struct CodeView {
  const CodeMap* map;  // null if there is none
  const char* file;
};
// The map at `offset`, which is untrusted. Maps more of the file if need be.
CodeView view_code(uint64_t offset);

// A library was closed, and another may take its place. Code that came since the process began is
// unknown to all threads until the collector has looked again.
void forget_late_code();

}  // namespace heaptape::recorder
