// The options of commands that look at the calls on a tape and at their call sites.
#include <map>
#include <memory>
#include <string>

#include "cli/command_groups.h"
#include "cli/commands.h"
#include "cli/option_kinds.h"
#include "cli/site_options.h"

namespace heaptape::cli {
namespace {

using schema::TextFormat;

const std::map<std::string, replayer::StackValue> kStackValues = {
    {"peak", replayer::StackValue::kPeak},
    {"end", replayer::StackValue::kEnd},
    {"bytes", replayer::StackValue::kBytes},
    {"calls", replayer::StackValue::kCalls},
    {"temporaries", replayer::StackValue::kTemporaries},
    {"mapped", replayer::StackValue::kMapped}};

using SiteOrders = std::map<std::string, std::optional<replayer::SiteOrder>>;

SiteOrders site_orders() {
  SiteOrders orders{{"pinned", replayer::HeapValue::kPinned},
                    {"slack", replayer::HeapValue::kSlack}};
  orders.insert(kStackValues.begin(), kStackValues.end());
  return orders;
}

}  // namespace

void add_symbolize(CLI::App& app, Request& request) {
  auto options = std::make_shared<SymbolizeOptions>();
  CLI::App* command = app.add_subcommand(
      "symbolize",
      "Save the functions and lines of a tape's call stacks, so that other machines can show them");
  add_tape(command, options->path);
  add_output(command, "-o,--output", options->output,
             "the file to write (default: TAPE.symbols, where all commands look for symbols)")
      ->option_text("FILE");
  add_symbols(command, options->symbols);
  command->footer("Example: heaptape symbolize run.tape");
  request.set_by(command, options, run_symbolize);
}

void add_stats(CLI::App& app, Request& request) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* command =
      app.add_subcommand("stats", "Count the calls of a tape: sizes, lifetimes, resizes, threads");
  add_tape(command, options->path);
  add_choice<StatsTable>(command, "--by", options->table,
                         {{"size", StatsTable::kSizes},
                          {"thread", StatsTable::kThreads},
                          {"site", StatsTable::kSites}},
                         "print only one table, in full: sizes, threads or, on a tape with call "
                         "stacks, call sites");
  add_json(command, options->format);
  add_output(command, "--csv", options->csv_path,
             "write sizes and lifetimes as CSV, or with --by site the sites")
      ->option_text("FILE");
  add_choice<std::optional<replayer::SiteOrder>>(
      command, "--sort", options->sort, site_orders(),
      "with --by site: rank by bytes at the peak or at the end, bytes requested, calls, "
      "temporaries (blocks freed by the next call), bytes mapped beside malloc, bytes that their "
      "blocks pin, or slack (default peak)");
  add_count(command, "--top", options->top, {.least = 1, .most = 1'000'000},
            "with --by site: how many sites to show (default 30)");
  command
      ->add_option("-a,--allocator", options->spec,
                   "with --by site: the allocator whose heap gives pinned bytes and slack, as for "
                   "`heaptape explain` (default: the recorded run)")
      ->option_text("SPEC");
  command
      ->add_option(
          "--at", options->at,
          "with --by site: the moment of that heap, as for `heaptape explain` (default peak)")
      ->option_text("WHEN");
  add_site_filters(command, options->filters);
  add_symbols(command, options->symbols);
  command->footer(
      "Example: heaptape stats run.tape --by size\n"
      "Which code allocates the memory, on a tape recorded with --stacks:\n"
      "heaptape stats run.tape --by site");
  request.set_by(command, options, run_stats);
}

void add_export(CLI::App& app, Request& request) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand(
      "export", "Write the call stacks of a tape for viewers, or its calls for other tools");
  add_tape(command, options->path);
  add_choice<ExportFormat>(
      command, "--format", options->format,
      {{"folded", ExportFormat::kFolded},
       {"pprof", ExportFormat::kPprof},
       {"speedscope", ExportFormat::kSpeedscope},
       {"perfetto", ExportFormat::kPerfetto},
       {"firefox", ExportFormat::kFirefox},
       {"malloclab", ExportFormat::kMalloclab},
       {"android", ExportFormat::kAndroid},
       {"mtrace", ExportFormat::kMtrace}},
      "call stacks for flamegraph.pl (folded), pprof or speedscope.app; the heap "
      "over time for ui.perfetto.dev or profiler.firefox.com; all calls for a malloc lab, "
      "memory_replay (android) or mtrace(1); required")
      ->required();
  add_output(command, "-o,--output", options->output, "the file (default: standard output)")
      ->option_text("FILE");
  add_choice<replayer::StackValue>(
      command, "--value", options->value, kStackValues,
      "weigh stacks by bytes at the peak or at the end, bytes requested, calls, temporaries "
      "(blocks freed by the next call) or bytes mapped beside malloc; pprof and speedscope files "
      "have them all and show this one first, firefox likewise for peak and end; perfetto files "
      "have no such choice (default peak)");
  add_site_filters(command, options->filters);
  add_symbols(command, options->symbols);
  command->footer("Example: heaptape export run.tape --format speedscope -o run.speedscope.json");
  request.set_by(command, options, run_export);
}

void add_dump(CLI::App& app, Request& request) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* command = app.add_subcommand("dump", "Print the calls as text, one per line");
  add_tape(command, options->path);
  add_count(command, "--from", options->from, {}, "first call to print, counted from 1");
  add_count(command, "--to", options->to, {}, "last call to print");
  add_choice<TextFormat>(command, "--format", options->format,
                         {{"text", TextFormat::kText}, {"ndjson", TextFormat::kNdjson}},
                         "output format (default text)");
  command->add_flag("--times", options->with_times,
                    "also print when each call was made, in seconds since the recording began");
  command->add_flag("--stacks", options->with_stacks,
                    "also print the stack of each call, with its frames the first time it appears");
  add_symbols(command, options->symbols);
  command->footer("Example: heaptape dump run.tape --from 1000 --to 1020");
  request.set_by(command, options, run_dump);
}

}  // namespace heaptape::cli
