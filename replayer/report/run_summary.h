// The summary of a replay: the moments of the tape, and the best run at each.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// The moment shown beside the peak: "atPlateau", or "atExit" if there is no plateau.
std::string second_state(const std::vector<schema::RunFigures>& runs);

// The part of a run with its figures at a moment: "atPeak" for "peak", "atMark.warm" for
// "mark:warm".
std::string state_of(const std::string& moment);

// A line for each moment, with the program's memory then.
std::string moment_lines(const schema::ReportFigures& report);

// The run with the least resident memory in one state, and the next one.
struct BestRun {
  std::string state;                // "atPeak", or second_state()
  std::vector<std::string> labels;  // those that hold least: several if equal
  std::string resident;             // "11.3 MiB"; exact bytes if the next one's would look alike
  std::string next_label;           // empty: all hold the same
  std::string next_resident;

  std::string names() const;  // "glibc and model:ptmalloc"
};

// Considers the runs that show how a real allocator would behave; empty if there is no choice.
// `runs` must belong to the figures.
std::vector<BestRun> best_runs(const std::vector<schema::RunFigures>& figures,
                               const std::vector<RunResult>& runs);

// The run whose memory a page describes: the best of the last state. Failing that, the last run
// that shows how a real allocator would behave; else the last of a model that imitates none; else
// the recorded run, which is a whole process. Null if no run with memory finished.
const schema::RunFigures* told_run(const std::vector<schema::RunFigures>& figures,
                                   const std::vector<RunResult>& runs,
                                   const std::vector<BestRun>& best);

// The best runs as a line; empty if there are none.
std::string best_line(const std::vector<schema::RunFigures>& figures,
                      const std::vector<RunResult>& runs);

// malloc has less than half of the process's anonymous memory at the peak, and the rest is at least
// 1 MiB: which allocator serves malloc matters little, and no run is called the best.
bool malloc_has_less_than_half(const schema::ReportFigures& report);

// "at the peak, 293 MiB of 332 MiB anonymous memory (88%) is beside malloc, 186 MiB of it
// libarrow's: another allocator cannot change that"; empty if it is less than a fifth or 1 MiB, or
// not known.
std::string beside_malloc(const schema::ReportFigures& report);

// Sentences about what can be done about that memory, as far as its heaps are known. Empty where
// beside_malloc() is.
std::vector<std::string> remedies(const schema::ReportFigures& report);

}  // namespace heaptape::replayer
