// gzip (RFC 1952), in one go.
#pragma once

#include <string>

namespace heaptape::replayer {

// The same bytes for the same text. Throws std::bad_alloc if there is no memory.
std::string gzip(const std::string& text);

}  // namespace heaptape::replayer
