// Settings of allocators in the environment of a program. docs/decisions/0043-steering.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heaptape::schema {

inline constexpr size_t kMostSettings = 32;

// "NAME=VALUE" in printable ASCII without blanks, at most 1,024 bytes.
bool is_plain_setting(std::string_view text);

// The settings in an environment ("NAME=VALUE" each and a 0 behind it) that tell allocators how to
// use memory, at most kMostSettings: MALLOC_*, GLIBC_TUNABLES, MIMALLOC_* and TCMALLOC_*, from a
// list of names. Nothing that names files, prints, checks or profiles. In the order of the
// environment; the first of each name, as getenv(3) has it.
std::vector<std::string> allocator_settings(std::string_view environment);

// The part of `setting`, "NAME=VALUE" of a tape from anywhere, that an allocator of that family
// (malloc_library.h) obeys and a replay may safely repeat. Empty: none.
std::string setting_for(const std::string& family, const std::string& setting);

}  // namespace heaptape::schema
