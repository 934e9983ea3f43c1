// docs/report.schema.json, made from report.capnp.
#pragma once

#include <string>

namespace heaptape::tests {

// A JSON Schema (2020-12) of a report, of `stats --json` and of `info --json`: the fields of each
// struct with their types and, as "unit", the unit of a metric. It allows other fields, because
// readers must ignore those they do not know.
std::string report_schema();

}  // namespace heaptape::tests
