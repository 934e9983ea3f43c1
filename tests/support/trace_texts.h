// One history of a heap in the formats that `heaptape import` knows.
#pragma once

#include <string>
#include <vector>

#include "schema/tape/event.h"

namespace heaptape::tests {

// The bytes of a trace with these calls of malloc, realloc and free, none of which failed. If a
// format has no realloc, it is written as an allocation and a free.
std::string trace_text(const std::string& format, const std::vector<schema::Event>& events);

}  // namespace heaptape::tests
