// The calls of heirs.c. A call has a state, from which follow its size, the functions on its stack,
// and the state of its thread's next call.
#pragma once

#include <stddef.h>

enum { kHeirsStates = 2048 };

static inline unsigned heirs_start(unsigned life) {
  return (11 + 37 * life) % kHeirsStates;
}
// Comes to every state.
static inline unsigned heirs_next(unsigned state) {
  return (5 * state + 3) % kHeirsStates;
}
// Sizes that nobody else asks for.
static inline size_t heirs_size(unsigned state) {
  return 4097 + 2 * (size_t)state;
}
// How many functions are between leaf() and begin(). Turn 0 is the innermost.
static inline unsigned heirs_turns(unsigned state) {
  return state % 11;
}
static inline int heirs_turns_right(unsigned state, unsigned turn) {
  return (int)(state >> turn & 1);
}
