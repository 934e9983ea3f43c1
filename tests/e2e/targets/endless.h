// What the program `endless` and the test that runs it share.
#pragma once

#include <stdint.h>

enum { kEndlessThreads = 8 };

struct Endless {
  volatile uint32_t stop;
  volatile uint32_t terms;                   // SIGTERMs that came
  volatile uint64_t calls[kEndlessThreads];  // by thread
};
