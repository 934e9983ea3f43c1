// A tape with call stacks whose every number is known.
#pragma once

#include <string>

#include "replayer/symbols/symbols.h"
#include "schema/tape/stack.h"
#include "schema/tape/tape_encoder.h"
#include "schema/tape/tape_info.h"

namespace heaptape::tests {

// Seven calls of a program /opt/app, which has a mapping at 0x400000, and an operator new in
// libstdc++.so.6 at 0x700000. The site of each call, as module+offset:
//   #1 malloc(100) = a       libstdc++.so.6+0x300 in app+0x200 (stack 3)
//   #2 malloc(50) = b        app+0x400 (stack 4)
//   #3 malloc(7)             app+0x400 (stack 4)
//   #4 realloc(b, 300) = c   app+0x200 (stack 2): the peak, 407 bytes
//   #5 free(a)               by thread 1
//   #6 malloc(10) = d        unknown (stack 0)
//   #7 free(d)
// and all of them in app+0x100. `recording`: the tape's metadata about its stacks.
void write_stack_tape(const std::string& path, const schema::StackRecording& recording = {});

// Another tape of that program, on glibc: a small block of read stays where lex frees all.
//   #1 malloc(24)              app+0x100 (stack 1), main
//   #2 malloc(10,000)          app+0x200 (stack 2), lex
//   #3 malloc(24)              app+0x400 (stack 4), read
//   #4 free of #2              a hole of 10,016 bytes between #1 and #3
//   #5 malloc(20,000)          app+0x200 (stack 2), lex
//   #6 malloc(30,000)          app+0x400 (stack 4), read: the peak, 50,048 bytes
//   #7 free of #5              a hole of 20,016 bytes between #3 and #6, at the end
void write_pinned_tape(const std::string& path, const schema::StackRecording& recording = {});

// Another one, on glibc: 500 buffers of 8,000 bytes (stack 2, lex), each followed by a session of
// 96 (stack 4, read); then the buffers go, and 2,000 calls for small blocks follow. Addresses are
// invented.
void write_sessions_tape(const std::string& path);

// The stacks of all these, for other tapes of the program.
void add_sample_stacks(schema::TapeEncoder& encoder);

// The tape's stacks, and the names of its functions: main, parse and read, and operator new.
schema::Stacks sample_stacks();
replayer::Symbols sample_symbols();

}  // namespace heaptape::tests
