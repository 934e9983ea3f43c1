// Every command, as a function with plain options: one source file each. What it returns is the
// exit code (see console.h). An error is one sentence on the console.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "recorder/collector/recording.h"
#include "recorder/import/import_trace.h"
#include "replayer/engine/replay.h"
#include "replayer/report/diff_format.h"
#include "replayer/report/explain_text.h"
#include "replayer/report/site_stats.h"
#include "replayer/sites/site_rules.h"
#include "replayer/sites/site_table.h"
#include "replayer/symbols/symbol_options.h"
#include "scenarios/scenario.h"
#include "schema/tape/tape_text.h"

namespace heaptape::cli {

struct RecordCommandOptions {
  recorder::RecordOptions record;
  bool is_live = false;  // figures once a second: live_screen.h
};
// Runs the program to its end, recording it. Then ends this process as the program ended: same exit
// status or signal. Returns only when the recording could not begin. Prints nothing but errors and,
// where somebody watches, a list of the tapes: what the program prints stays as it was.
int run_record(const RecordCommandOptions& options, Console& console);

struct CtlOptions {
  uint32_t pid = 0;  // of a recorded process, as its recorder sees it
  std::string verb;
  std::string name;  // of the mark
};
int run_ctl(const CtlOptions& options, Console& console);

enum class Format : uint8_t { kText, kJson };

struct InfoOptions {
  std::string path;
  Format format = Format::kText;
};
int run_info(const InfoOptions& options, Console& console);

// Reads every byte of the tape. Damage, and losses that the recorder noted, each get a line, and
// the exit code 1.
int run_verify(const std::string& path, Console& console);

struct RecoverOptions {
  std::string path;    // a damaged or unfinished tape
  std::string output;  // the whole one that is made of it
};
int run_recover(const RecoverOptions& options, Console& console);

// `import list`: the formats, and what each lacks.
int run_import_list(Console& console);
// The exit code is 1 if some of the trace could not be read.
int run_import(const recorder::ImportOptions& options, Console& console);

struct ScrubOptions {
  std::string path;
  std::string output;  // a tape that can be given to others
  uint64_t from = 1;   // numbers of calls, from 1, both included
  uint64_t until = UINT64_MAX;
  bool hash_names = false;  // of files and of code made at run time
};
// Without command line, paths, process, date, names of threads and where the address space began.
// What lives when `from` begins is allocated at its beginning.
int run_scrub(const ScrubOptions& options, Console& console);

struct DumpOptions {
  std::string path;
  uint64_t from = 1;  // numbers of calls, from 1, both included
  uint64_t to = UINT64_MAX;
  schema::TextFormat format = schema::TextFormat::kText;
  bool with_times = false;
  bool with_stacks = false;
  replayer::SymbolOptions symbols = {};
};
int run_dump(const DumpOptions& options, Console& console);

enum class StatsTable : uint8_t { kAll, kSizes, kThreads, kSites };

struct StatsOptions {
  std::string path;
  StatsTable table = StatsTable::kAll;
  Format format = Format::kText;  // the tables of sizes and threads are text only
  std::string csv_path = {};      // empty: none
  // Of the table of sites alone.
  std::optional<replayer::SiteOrder> sort = {};
  std::optional<size_t> top = {};
  std::optional<std::string> spec = {};  // as given with -a; of slack and holes
  std::optional<std::string> at = {};    // as given with --at; the same
  // Of that table, and of the sites that the whole names.
  replayer::SiteFilters filters = {};
  replayer::SymbolOptions symbols = {};
};
int run_stats(const StatsOptions& options, Console& console);

enum class ExportFormat : uint8_t {
  kFolded,  // of call stacks, as the two that follow
  kPprof,
  kSpeedscope,
  kMalloclab,  // of calls, as the two that follow
  kAndroid,
  kMtrace,
};

struct ExportOptions {
  std::string path;
  ExportFormat format = ExportFormat::kFolded;
  std::string output = {};  // empty: standard output
  replayer::StackValue value = replayer::StackValue::kPeak;
  replayer::SiteFilters filters = {};
  replayer::SymbolOptions symbols = {};
};
int run_export(const ExportOptions& options, Console& console);

struct SymbolizeOptions {
  std::string path;
  std::string output = {};  // empty: symbol_path()
  replayer::SymbolOptions symbols = {};
};
int run_symbolize(const SymbolizeOptions& options, Console& console);

struct ReplayCommandOptions {
  std::string tape_path;
  std::vector<std::string> specs;      // as given with -a; empty: see usable_specs
  std::vector<std::string> actions;    // as given with --do
  std::string report_path;             // empty: none
  std::string csv_path;                // empty: none
  std::string html_path = {};          // empty: none
  bool with_latency = false;           // print how long single calls took
  replayer::ReplayOptions replay;      // specs are filled in from the above
  replayer::SiteFilters filters = {};  // of the call sites in the report
  replayer::SymbolOptions symbols = {};
};
int run_replay(const ReplayCommandOptions& options, Console& console);

struct ExplainCommandOptions {
  std::string tape_path;
  std::string spec;                  // as given with -a
  std::optional<std::string> at;     // as given with --at
  replayer::ExplainOptions explain;  // spec and moment are filled in from the above
  replayer::HolesOptions holes = {};
  replayer::SiteFilters filters = {};
  replayer::SymbolOptions symbols = {};
  Format format = Format::kText;
  std::string html_path = {};  // empty: none
};
int run_explain(const ExplainCommandOptions& options, Console& console);
int run_holes(const ExplainCommandOptions& options, Console& console);

struct AllocatorsOptions {
  Format format = Format::kText;
  std::vector<std::string> specs;  // for JSON; none: all that need no path
};
// Lists what a tape can be replayed on, with the options of models, and says what cannot be loaded
// here. As JSON, also whose code replays would run: paths and build ids.
int run_allocators(const AllocatorsOptions& options, Console& console);

struct DiffOptions {
  std::vector<std::string> paths;    // of reports: one or several bases, then the new one
  std::string run;                   // a label; empty = every run that both reports have
  std::string baseline = {};         // the label of the base's run that all are compared with
  std::vector<std::string> fail_if;  // see gate.h
  bool is_strict = false;            // strict_gates(), too
  bool shows_all = false;            // every metric in tables for people, not the headlines alone
  replayer::DiffFormat format = replayer::DiffFormat::kText;
  std::string html_path = {};  // empty: none
};
// The exit code is 1 if a gate failed.
int run_diff(const DiffOptions& options, Console& console);

enum class ScenarioDetail : uint8_t { kNames, kParameters };

// `scenario list`.
int run_scenario_list(ScenarioDetail detail, Console& console);
int run_scenario(const scenarios::ScenarioOptions& options, Console& console);

}  // namespace heaptape::cli
