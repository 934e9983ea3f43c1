// Frames that no compiler makes, in unwinding_asm.cc, and what they call.
#pragma once

#include <cstddef>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

extern "C" {

// All call ask_for_assembly(), but for the second.
void ask_by_hand(size_t size);
void ask_from_nowhere(size_t size);  // ask_quietly()
void ask_in_stub_after_push(size_t size);
void call_stub_before_push(size_t size);

// These call wander_for_assembly().
void hold_above(int depth);
void hold_between(int depth);
void hold_below(int depth);
void hold_nothing(int depth);
void hold_at_frame(int depth);  // at one of two places, where the register then points

void ask_for_assembly(size_t size);
void ask_quietly(size_t size);
void wander_for_assembly(int depth);
}
