// The programs of this build, run as by a user.
#pragma once

#include <string>
#include <vector>

#include "tests/support/command.h"

namespace heaptape::tests {

// Whether this build, and so the heaptape under test, has a sanitizer, which must be the first
// library of its process, and needs much address space and occasionally a descriptor.
#if defined(HEAPTAPE_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Why figures of glibc 2.36 cannot be expected from `spec` here; empty if they can.
std::string not_glibc_2_36(const std::string& spec = "glibc");

// The newest mimalloc installed, as the loader finds it: "libmimalloc.so.2" on Debian 12,
// "libmimalloc.so.3" on Debian 13.
const char* mimalloc_library();

// Why a program that requests aligned blocks cannot be replayed on the installed mimalloc; empty if
// it can. 3.0.1, in Debian 13, forgets which of its blocks are aligned, and hands out live memory:
// docs/decisions/0017-ordered-threads.md has the evidence.
std::string mimalloc_3_0_1();

// Why two replays on the mimalloc that is installed may differ; empty if they may not. 3.6.0, in
// Debian unstable, places blocks and returns pages differently from run to run.
std::string mimalloc_3();

// Why glibc's own figures need not be whole pages here; empty if they must. In 2.43, mallinfo2
// reports some 600 to 800 bytes more than glibc holds.
std::string newer_mallinfo();

// Whether the lines of commands follow this line of --help. CLI11 2.6 has capitals there.
bool begins_commands(const std::string& line);

std::string heaptape_path();
std::string preload_path();  // the library that `heaptape record` preloads
// A program or library from tests/e2e/targets.
std::string target_path(const std::string& name);

// As run_command(); if the first argument is "heaptape", runs this build's.
Ended run(CommandLine line);
Ended run(std::vector<std::string> words);

// Expects exit code 2, nothing on standard output, and one line "heaptape: ..." containing `part`
// on standard error.
void expect_refusal(const Ended& ended, const std::string& part);

}  // namespace heaptape::tests
