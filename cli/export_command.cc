#include <unistd.h>

#include <ostream>

#include "base/display_text.h"
#include "base/output_file.h"
#include "cli/bigger_tape.h"
#include "cli/commands.h"
#include "cli/output_check.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "replayer/export/folded.h"
#include "replayer/export/pprof.h"
#include "replayer/export/speedscope.h"
#include "replayer/report/tape_stats.h"

namespace heaptape::cli {
namespace {

base::Status check_output(const ExportOptions& options) {
  if (!options.output.empty() && base::same_file(options.output, options.path)) {
    return base::Error::usage(base::quoted(options.output) + " is the tape: write to another file");
  }
  const bool is_for_people = options.output.empty() && isatty(STDOUT_FILENO) != 0;
  if (is_for_people && options.format == ExportFormat::kPprof) {
    return base::Error::usage("a terminal cannot show a profile for pprof: name a file with -o");
  }
  return check_writable(options.output);
}

std::string exported(const ExportOptions& options, const replayer::ShownStacks& stacks) {
  switch (options.format) {
    case ExportFormat::kFolded:
      return replayer::folded_text(stacks, options.value);
    case ExportFormat::kPprof:
      return replayer::pprof_profile(stacks, options.value);
    case ExportFormat::kSpeedscope:
      return replayer::speedscope_json(stacks, options.value, replayer::last_part(options.path));
  }
  return "";
}

base::Status export_stacks(const ExportOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_tape(options.path, schema::OnDamage::kStop, console));
  HEAPTAPE_RETURN_IF_ERROR(check_output(options));
  note_bigger_tape(tape, console);
  HEAPTAPE_ASSIGN_OR_RETURN(const TapeStacks stacks,
                            read_tape_stacks(tape, options.symbols, console));
  replayer::StackProfile profile(stacks.stacks.limit(), {},
                                 replayer::SampleWeight(tape.header().stacks.every_bytes));
  Progress progress(console, "counting");
  HEAPTAPE_RETURN_IF_ERROR(
      replayer::count_stacks(tape, profile, [&progress](double share) { progress.show(share); }));
  const replayer::ShownStacks shown(stacks.stacks, stacks.symbols, rules, profile);
  if (shown.list().empty() && !options.filters.only.empty()) return no_site_shown(tape);
  const std::string text = exported(options, shown);
  if (!options.output.empty()) return base::write_file(options.output, text);
  console.out() << text;
  return {};
}

}  // namespace

int run_export(const ExportOptions& options, Console& console) {
  const base::Status status = export_stacks(options, console);
  return status.ok() ? console.finish() : console.fail(status.error());
}

}  // namespace heaptape::cli
