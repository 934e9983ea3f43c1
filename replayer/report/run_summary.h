// The summary of a replay: the moments of the tape, and what is beside malloc.
#pragma once

#include <string>
#include <vector>

#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// The moment shown beside the peak: "atPlateau", or "atExit" if there is no plateau.
std::string second_state(const std::vector<schema::RunFigures>& runs);

// The part of a run with its figures at a moment: "atPeak" for "peak", "atMark.warm" for
// "mark:warm".
std::string state_of(const std::string& moment);

// A line for each moment, with the program's memory then.
std::string moment_lines(const schema::ReportFigures& report);

// malloc has less than half of the process's anonymous memory at the peak, and the rest is at least
// 1 MiB: which allocator serves malloc matters little, and no run is called better.
bool malloc_has_less_than_half(const schema::ReportFigures& report);

// "at the peak, 293 MiB of 332 MiB anonymous memory (88%) is beside malloc, 186 MiB of it
// libarrow's: another allocator cannot change that"; empty if it is less than a fifth or 1 MiB, or
// not known.
std::string beside_malloc(const schema::ReportFigures& report);

// How much that is; 0 if not known.
uint64_t bytes_beside_malloc(const schema::ReportFigures& report);

// Sentences about what can be done about that memory, as far as its heaps are known. Empty where
// beside_malloc() is.
std::vector<std::string> remedies(const schema::ReportFigures& report);

}  // namespace heaptape::replayer
