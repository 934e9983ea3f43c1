// The file of unwind tables (recorder/unwind/code_map.h), as a recorded process sees it. Any
// thread.
#pragma once

#include <cstdint>

#include "recorder/unwind/code_map.h"

namespace heaptape::recorder {

// Maps the beginning of the file, which stays mapped, in forked children too. The descriptor is the
// caller's. Once, before there are threads to record.
void map_code_file(int descriptor);

// A code map, and the file it is of: an offset in it is one from `file`.
struct CodeView {
  const CodeMap* map;  // null: there is none
  const char* file;
};
// The map at `offset`, which anybody may have made up. Maps more of the file if need be.
CodeView view_code(uint64_t offset);

// A library was closed, and another may come to where it was. What came since the process began is
// unknown code, for all threads, until the collector has looked again.
void forget_late_code();

}  // namespace heaptape::recorder
