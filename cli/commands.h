// Every command, as a function with plain options, most in a source file of their own. It returns
// the exit code (see console.h). An error is one sentence on the console.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/process_list.h"
#include "recorder/collector/recording.h"
#include "recorder/import/import_trace.h"
#include "replayer/diff/diff_format.h"
#include "replayer/engine/replay.h"
#include "replayer/report/explain_output.h"
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
// Records the program to its end. Then ends this process as the program ended, with the same exit
// status or signal. Returns only if the recording could not begin. Prints only to standard error:
// errors and, on a terminal, a note and a list of the tapes.
int run_record(const RecordCommandOptions& options, Console& console);
// Executes the program in this process; a child in the background records it. Returns an exit code
// only if the program did not run.
int run_exec(const RecordCommandOptions& options, Console& console);

struct CtlOptions {
  std::string target;  // the pid of a recorded process, in its recorder's PID namespace; or a tape
  std::string verb;
  std::string name;  // of a mark
};
int run_ctl(const CtlOptions& options, Console& console);

enum class Format : uint8_t { kText, kJson };

struct InfoOptions {
  std::string path;  // of a tape, or of a manifest
  Format format = Format::kText;
  ProcessFilter processes = {};  // of a manifest
  bool live = false;             // of a manifest: read the tapes for their live bytes
};
int run_info(const InfoOptions& options, Console& console);

// Reads every byte of the tape. Prints a line for each damage, and one for the losses that the
// recorder noted; the exit code is then 1.
int run_verify(const std::string& path, Console& console);

struct RecoverOptions {
  std::string path;    // a damaged or unfinished tape
  std::string output;  // its repaired copy
};
int run_recover(const RecoverOptions& options, Console& console);

struct PackOptions {
  std::string path;    // a whole tape
  std::string output;  // a smaller one with the same calls
};
int run_pack(const PackOptions& options, Console& console);

// `import list`: the formats, and what each of them lacks.
int run_import_list(Console& console);
// The exit code is 1 if some of the trace could not be read.
int run_import(const recorder::ImportOptions& options, Console& console);

struct ScrubOptions {
  std::string path;
  std::string output;  // a tape that can be given to others
  uint64_t from = 1;   // numbers of calls, from 1, both included
  uint64_t to = UINT64_MAX;
  bool drop_settings = false;
  bool hash_names = false;  // of files and of code made at run time
};
// Removes the command line, paths, process, date, thread names and the start of the address space.
// Blocks that are live when `from` begins are allocated at its beginning.
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
  // For the table of sites alone.
  std::optional<replayer::SiteOrder> sort = {};
  std::optional<size_t> top = {};
  std::optional<std::string> spec = {};  // the value of -a, for slack and holes
  std::optional<std::string> at = {};    // the value of --at, likewise
  // For that table, and for sites that the full output names.
  replayer::SiteFilters filters = {};
  replayer::SymbolOptions symbols = {};
};
int run_stats(const StatsOptions& options, Console& console);

enum class ExportFormat : uint8_t {
  kFolded,  // call stacks; so are the next two
  kPprof,
  kSpeedscope,
  kPerfetto,  // call stacks and figures over time; so is the next one
  kFirefox,
  kMalloclab,  // calls; so are the next two
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
  std::string tape_path;               // or that of a manifest
  std::string process = {};            // in a manifest; empty: see choose_tape()
  bool is_chosen = false;              // from a manifest, by choose_tape()
  std::vector<std::string> specs;      // values of -a; empty: default_allocators()
  std::vector<std::string> actions;    // values of --do
  std::string report_path;             // empty: none
  std::string csv_path;                // empty: none
  std::string html_path = {};          // empty: none
  bool with_latency = false;           // print how long single calls took
  replayer::ReplayOptions replay;      // specs are filled in from the above
  replayer::SiteFilters filters = {};  // for the call sites in the report
  replayer::SymbolOptions symbols = {};
};
int run_replay(const ReplayCommandOptions& options, Console& console);

struct ExplainCommandOptions {
  std::string tape_path;              // or that of a manifest
  std::string process = {};           // in a manifest; empty: see choose_tape()
  bool is_chosen = false;             // from a manifest, by choose_tape()
  std::string spec;                   // the value of -a
  std::optional<std::string> at;      // the value of --at
  replayer::ExplainOptions explain;   // spec and moment are filled in from the above
  replayer::HolesOptions holes = {};  // a top of 0: --top was not given to `explain`
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
// Lists the allocators and models that a tape can be replayed on, with the options of models, and
// those that cannot be loaded here. JSON adds paths and build ids of the code that a replay runs.
int run_allocators(const AllocatorsOptions& options, Console& console);

struct DiffOptions {
  std::vector<std::string> paths;    // of reports: one or several bases, then the new one
  std::string run;                   // a label; empty: every run that both reports have
  std::string baseline = {};         // the label of the base's run to compare all with
  std::vector<std::string> fail_if;  // see gate.h
  bool is_strict = false;            // adds strict_gates()
  bool shows_all = false;            // show every metric in tables, not just the headlines
  replayer::DiffFormat format = replayer::DiffFormat::kText;
  std::string html_path = {};  // empty: none
};
// The exit code is 1 if a gate failed, or a run failed only in the new report.
int run_diff(const DiffOptions& options, Console& console);

enum class ScenarioDetail : uint8_t { kNames, kParameters };

// `scenario list`.
int run_scenario_list(ScenarioDetail detail, Console& console);
int run_scenario(const scenarios::ScenarioOptions& options, Console& console);

}  // namespace heaptape::cli
