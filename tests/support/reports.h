// Makes reports for tests. Free of Cap'n Proto.
#pragma once

#include <string>

namespace heaptape::tests {

// The JSON of a report of two runs, "glibc" and "buddy", with every field filled in.
std::string sample_report_json();

}  // namespace heaptape::tests
