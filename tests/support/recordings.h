// Recordings and reports made by this build's heaptape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/report/report_metrics.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {

// Records the command; returns its tape, or notes a failure if there is none. If the command starts
// others, returns the tape with the most events.
std::string record(const TempDir& dir, const std::vector<std::string>& words,
                   const std::vector<std::string>& environment = {}, std::string* output = nullptr);

// The report of `heaptape replay TAPE -a SPEC...` with further options.
schema::ReportFigures replay_report(const TempDir& dir, const std::string& tape,
                                    const std::vector<std::string>& specs,
                                    const std::vector<std::string>& options = {});
// The report's single run.
schema::RunFigures replay_run(const TempDir& dir, const std::string& tape, const std::string& spec,
                              const std::vector<std::string>& options = {});

uint64_t count_of(const schema::RunFigures& run, const std::string& metric);
double ratio_of(const schema::RunFigures& run, const std::string& metric);

// A number in a JSON object by its name, even if quoted.
uint64_t json_number(const std::string& json, const std::string& name);

}  // namespace heaptape::tests
