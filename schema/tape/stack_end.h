// Why a recorded stack ends before the outermost frame. docs/tape-format.md, "Stacks". Free of the
// C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::schema {

// Stored in place of the return address of the frame that was not reached: no code lies there.
enum class StackEnd : uint8_t {
  kUnknown = 0,
  kDepth = 1,        // it has more frames than were asked for
  kUnknownCode = 2,  // code of no file: made at run time, or mapped so lately that the recorder
                     // had not read it
  kNoRule = 3,       // the file does not say how to unwind the function, or in a rare way
  kUnreadable = 4,   // the next frame would lie where there is no stack
  kNoCode = 5,       // there is no return address where it should be
};
inline constexpr uint64_t kStackEnds = 6;  // below this: a StackEnd

// In a return address: the frames further out were found by the frame pointer, though nothing says
// that the function keeps one.
inline constexpr uint64_t kGuessFlag = uint64_t{1} << 63;

}  // namespace heaptape::schema
