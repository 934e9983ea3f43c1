// Where the frames of a tape lie in their code's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/tape/stack.h"

namespace heaptape::replayer {

// A file that code was mapped from; two builds of one path are two modules. Or a function that the
// program made at run time.
struct CodeModule {
  std::string path;
  std::string build_id;       // bytes, as recorded; may be empty
  uint64_t mapped_from = 0;   // the lowest file offset of its mapped code
  std::string function = {};  // bytes, the program's name for it; empty: this is a file

  bool operator==(const CodeModule&) const = default;
};

// The place of a call.
struct CodeSpot {
  static constexpr uint32_t kNoModule = UINT32_MAX;

  uint32_t module = kNoModule;  // index
  // In the file: of the last byte of the call. Without a module: the return address.
  uint64_t offset = 0;

  bool operator==(const CodeSpot&) const = default;
};

struct FrameCode {
  std::vector<CodeModule> modules;      // also those that no frame returns into
  std::vector<CodeSpot> spots;          // all different; the first is for lost frames and cuts
  std::vector<uint32_t> spot_of_frame;  // by frame number
};

// Addresses are used again when code is unmapped and other code is mapped. A frame's code is that
// of the last mapping around its return address seen before the frame or, if there is none, of the
// first one seen later: the collector looks at the mappings after the fact.
FrameCode locate_frames(const schema::Stacks& stacks);

}  // namespace heaptape::replayer
