// What a replay comes to: the moments of the tape, and which run is best then.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// The moment that is looked at beside the peak: "atPlateau", or "atExit" where there is no plateau.
std::string second_state(const std::vector<schema::RunFigures>& runs);

// The part of a run that has its figures at a moment: "atPeak" of "peak", "atMark.warm" of
// "mark:warm".
std::string state_of(const std::string& moment);

// A line for each moment, with what the program had then.
std::string moment_lines(const schema::ReportFigures& report);

// The run with least resident memory in one state, and the next one.
struct BestRun {
  std::string state;                // "atPeak", or second_state()
  std::vector<std::string> labels;  // of those that hold least: several where they hold the same
  std::string resident;             // "11.3 MiB"; to the byte where the next one's would look alike
  std::string next_label;           // empty: all hold the same
  std::string next_resident;

  std::string names() const;  // "glibc and model:ptmalloc"
};

// Of the runs that say what a real allocator would do; empty where there is nothing to choose from.
// `runs` are those of the figures.
std::vector<BestRun> best_runs(const std::vector<schema::RunFigures>& figures,
                               const std::vector<RunResult>& runs);

// The run whose memory a page tells of: the best of the last state. Where there is none, the last
// run that says what a real allocator would do; else the last of a model that imitates nobody; else
// the recorded run, which is a whole process. Null where no run with memory came to the end.
const schema::RunFigures* told_run(const std::vector<schema::RunFigures>& figures,
                                   const std::vector<RunResult>& runs,
                                   const std::vector<BestRun>& best);

// The best ones as a line; empty where there is none.
std::string best_line(const std::vector<schema::RunFigures>& figures,
                      const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
