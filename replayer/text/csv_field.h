// Text as a CSV field.
#pragma once

#include <string>

namespace heaptape::replayer {

// A field, quoted if necessary (RFC 4180).
std::string csv_field(std::string text);

}  // namespace heaptape::replayer
