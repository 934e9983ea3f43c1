// docs/report.schema.json, made from report.capnp.
#pragma once

#include <string>

namespace heaptape::tests {

// A JSON Schema (2020-12) of a report, of `stats --json` and of `info --json`. The fields of each
// struct with their types and, as "unit", the unit of a metric. As readers must ignore fields that
// they do not know, it allows others.
std::string report_schema();

}  // namespace heaptape::tests
