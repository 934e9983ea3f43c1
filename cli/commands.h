// Every command, as a function with plain options: one source file each. Results go to `out`, an
// error goes as one sentence to `err`; the exit code is what they return (see console.h).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "recorder/collector/recording.h"
#include "replayer/engine/replay.h"
#include "replayer/report/diff_format.h"
#include "scenarios/scenario.h"
#include "schema/tape/tape_text.h"

namespace heaptape::cli {

// Runs the program to its end, recording it. Then ends this process as the program ended: same exit
// status or signal. Returns only when the recording could not begin. Writes nothing of its own but
// errors and, on a terminal, a list of the tapes, so that what the program prints stays as it was.
int run_record(const recorder::RecordOptions& options, std::ostream& err);

int run_info(const std::string& path, std::ostream& out, std::ostream& err);

// Reads every byte of the tape. Damage, and losses that the recorder noted, each get a line, and
// the exit code 1.
int run_verify(const std::string& path, std::ostream& out, std::ostream& err);

// Writes what can be read of a damaged tape to a whole one.
int run_recover(const std::string& path, const std::string& output, std::ostream& out,
                std::ostream& err);

struct DumpOptions {
  std::string path;
  uint64_t from = 1;  // numbers of calls, from 1, both included
  uint64_t to = UINT64_MAX;
  schema::TextFormat format = schema::TextFormat::kText;
};
int run_dump(const DumpOptions& options, std::ostream& out, std::ostream& err);

int run_stats(const std::string& path, bool json, std::ostream& out, std::ostream& err);

struct ReplayCommandOptions {
  std::string tape_path;
  std::vector<std::string> specs;  // as given with -a
  std::string report_path;         // empty: none
  std::string csv_path;            // empty: none
  replayer::ReplayOptions replay;  // specs are filled in from the above
};
int run_replay(const ReplayCommandOptions& options, std::ostream& out, std::ostream& err);

// Lists what a tape can be replayed on, with the options of models, and says what cannot be loaded
// here.
int run_allocators(std::ostream& out, std::ostream& err);

struct DiffOptions {
  std::string base_path;
  std::string new_path;
  std::string run;                   // a label; empty = every run that both reports have
  std::vector<std::string> fail_if;  // see gate.h
  replayer::DiffFormat format = replayer::DiffFormat::kText;
};
// The exit code is 1 if a gate failed.
int run_diff(const DiffOptions& options, std::ostream& out, std::ostream& err);

// `scenario list`: `verbose` adds the parameters.
int run_scenario_list(bool verbose, std::ostream& out, std::ostream& err);
int run_scenario(const scenarios::ScenarioOptions& options, std::ostream& out, std::ostream& err);

}  // namespace heaptape::cli
