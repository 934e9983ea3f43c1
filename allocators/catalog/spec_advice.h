// Suggests what a SPEC that names no allocator may have meant.
#pragma once

#include <optional>
#include <string>

namespace heaptape::allocators {

// The message that rejects the nonexistent backend `name`. `label` is the text before its '=', or
// empty.
std::string no_such_allocator(const std::string& name, const std::string& label);

// `spec` and the argument after it as one spec, if a shell split them because quotes were missing:
// "glibc" and "MALLOC_ARENA_MAX=2", "model:ptmalloc" and "arena_max=2". Nothing if `word` does not
// look like a setting of that allocator. `spec` must parse.
std::optional<std::string> joined_spec(const std::string& spec, const std::string& word);

}  // namespace heaptape::allocators
