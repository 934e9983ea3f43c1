// Text in a line of CSV.
#pragma once

#include <string>

namespace heaptape::replayer {

// A field, quoted where it must be (RFC 4180).
std::string csv_field(std::string text);

}  // namespace heaptape::replayer
