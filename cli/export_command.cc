#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/bigger_tape.h"
#include "cli/commands.h"
#include "cli/output_check.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "replayer/engine/tape_moments.h"
#include "replayer/export/call_trace.h"
#include "replayer/export/heap_history.h"
#include "replayer/export/history_formats.h"
#include "replayer/export/stack_formats.h"
#include "replayer/report/tape_stats.h"

namespace heaptape::cli {
namespace {

base::Status check_output(const ExportOptions& options) {
  if (!options.output.empty() && base::same_file(options.output, options.path)) {
    return base::Error::usage(base::quoted(options.output) + " is the tape: write to another file");
  }
  const bool is_for_people = options.output.empty() && isatty(STDOUT_FILENO) != 0;
  const bool is_pprof = options.format == ExportFormat::kPprof;
  if (is_for_people && (is_pprof || options.format == ExportFormat::kPerfetto)) {
    return base::Error::usage(
        std::string(is_pprof ? "a pprof profile" : "a Perfetto trace") +
        " is binary, so it is not written to a terminal: name a file with -o");
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
    default:
      return "";
  }
}

base::Status write_text(const ExportOptions& options, const std::string& text, Console& console) {
  if (!options.output.empty()) return base::write_file(options.output, text);
  console.out() << text;
  return {};
}

base::Result<schema::TapeReader> open_exported(const ExportOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_tape(options.path, schema::OnDamage::kStop, console));
  HEAPTAPE_RETURN_IF_ERROR(check_output(options));
  note_bigger_tape(tape, console);
  return tape;
}

base::Status export_stacks(const ExportOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_exported(options, console));
  HEAPTAPE_ASSIGN_OR_RETURN(const TapeStacks stacks,
                            read_tape_stacks(tape, options.symbols, console));
  replayer::StackProfile profile(stacks.stacks.limit(), {},
                                 replayer::SampleWeight(tape.header().stacks));
  Progress progress(console, "counting");
  HEAPTAPE_RETURN_IF_ERROR(
      replayer::count_stacks(tape, profile, [&progress](double share) { progress.show(share); }));
  const replayer::ShownStacks shown(stacks.stacks, stacks.symbols, rules, profile);
  if (shown.list().empty() && !options.filters.only.empty()) return no_site_shown(tape);
  return write_text(options, exported(options, shown), console);
}

replayer::RecordedProcess process_of(const schema::TapeReader& tape) {
  const schema::TapeHeader& header = tape.header();
  const std::string& path = header.executable.empty() ? tape.path() : header.executable;
  return {header.pid, base::display_text(replayer::last_part(path)), header.start_unix_ns};
}

// Tapes without stacks have a history as well.
base::Status export_history(const ExportOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_exported(options, console));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto stacks,
                            read_stacks_if_any(tape, options.filters, options.symbols, console));
  if (!stacks) {
    console.print_note("the tape has no call stacks: the file has figures over time only");
  }
  const auto limit = stacks ? stacks->stacks.limit() : 1;
  replayer::StackProfile profile(limit, {}, replayer::SampleWeight(tape.header().stacks));
  Progress finding(console, "finding moments");
  HEAPTAPE_ASSIGN_OR_RETURN(
      const auto found,
      replayer::find_moments(tape, UINT64_MAX, [&finding](double share) { finding.show(share); }));
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  const bool has_times = std::ranges::any_of(
      found, [](const replayer::Moment& moment) { return moment.time_ns.value_or(0) != 0; });
  Progress counting(console, "counting");
  HEAPTAPE_ASSIGN_OR_RETURN(
      const auto history,
      replayer::read_history(tape, replayer::moments_to_keep(found, tape.events(), limit),
                             has_times, stacks ? &profile : nullptr,
                             [&counting](double share) { counting.show(share); }));
  std::optional<replayer::ShownStacks> shown;
  if (stacks) {
    shown.emplace(stacks->stacks, stacks->symbols, rules, profile);
    if (shown->list().empty() && !options.filters.only.empty()) return no_site_shown(tape);
  }
  const replayer::ShownStacks* const any = shown ? &*shown : nullptr;
  const replayer::RecordedProcess process = process_of(tape);
  return write_text(options,
                    options.format == ExportFormat::kPerfetto
                        ? replayer::perfetto_trace(process, history, any)
                        : replayer::firefox_profile(process, history, any, options.value),
                    console);
}

bool is_history(ExportFormat format) {
  return format == ExportFormat::kPerfetto || format == ExportFormat::kFirefox;
}

std::optional<replayer::TraceKind> trace_kind(ExportFormat format) {
  if (format == ExportFormat::kMalloclab) return replayer::TraceKind::kMalloclab;
  if (format == ExportFormat::kAndroid) return replayer::TraceKind::kAndroid;
  if (format == ExportFormat::kMtrace) return replayer::TraceKind::kMtrace;
  return std::nullopt;
}

// Standard output, or a file that appears once it is complete.
class TraceOutput {
 public:
  static base::Result<TraceOutput> open(const std::string& path, Console& console) {
    TraceOutput output(console);
    if (path.empty()) return output;
    HEAPTAPE_ASSIGN_OR_RETURN(
        auto file, base::OutputFile::create(path, base::OutputFile::IfAbandoned::kRemove));
    output.file_ = std::make_unique<base::OutputFile>(std::move(file));
    return output;
  }
  base::Status write(const std::string& text) {
    if (file_) {
      return file_->append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    }
    console_->out() << text;
    return {};
  }
  base::Status commit() { return file_ ? file_->commit() : base::Status(); }

 private:
  explicit TraceOutput(Console& console) : console_(&console) {}

  Console* console_;
  std::unique_ptr<base::OutputFile> file_;  // null: standard output
};

// Calls write(text) for each batch of the tape.
template <typename Write>
base::Status trace_calls(schema::TapeReader& tape, replayer::CallTrace& trace, Write write) {
  base::Status written;
  std::string text;
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  HEAPTAPE_RETURN_IF_ERROR(for_each_batch(tape, [&](const schema::EventBatch& batch) {
    text.clear();
    trace.append(text, batch);
    if (written.ok()) written = write(text);
  }));
  return written;
}

base::Status export_calls(const ExportOptions& options, replayer::TraceKind kind,
                          Console& console) {
  if (!options.filters.only.empty() || !options.filters.hide.empty()) {
    return base::Error::usage("--only and --hide apply to call stacks: omit them");
  }
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_exported(options, console));
  // Some formats have counts of the whole in their heading.
  replayer::CallTrace counted(kind);
  if (kind == replayer::TraceKind::kMalloclab) {
    HEAPTAPE_RETURN_IF_ERROR(
        trace_calls(tape, counted, [](const std::string&) { return base::Status(); }));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(TraceOutput output, TraceOutput::open(options.output, console));
  HEAPTAPE_RETURN_IF_ERROR(output.write(replayer::call_trace_head(kind, counted)));
  replayer::CallTrace trace(kind);
  HEAPTAPE_RETURN_IF_ERROR(
      trace_calls(tape, trace, [&output](const std::string& text) { return output.write(text); }));
  HEAPTAPE_RETURN_IF_ERROR(output.write(replayer::call_trace_end(kind)));
  if (trace.left_out() != 0) {
    console.print_note(
        "omitted " + base::counted(trace.left_out(), "call") +
        " that the format cannot express: failed calls, and frees of NULL and of unknown blocks");
  }
  return output.commit();
}

}  // namespace

int run_export(const ExportOptions& options, Console& console) {
  const auto kind = trace_kind(options.format);
  const auto export_viewed = is_history(options.format) ? export_history : export_stacks;
  const base::Status status =
      kind ? export_calls(options, *kind, console) : export_viewed(options, console);
  return status.ok() ? console.finish() : console.fail(status.error());
}

}  // namespace heaptape::cli
