#include "replayer/commands/replay_command.h"

#include <algorithm>
#include <ostream>
#include <set>

#include "allocators/catalog.h"
#include "replayer/commands/command_io.h"
#include "replayer/report/number_text.h"
#include "replayer/report/report_builder.h"
#include "replayer/report/run_table.h"
#include "schema/display_text.h"
#include "schema/output_file.h"
#include "schema/tape_reader.h"

namespace heaptape::replayer {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Result;
using schema::Status;

Result<std::vector<allocators::BackendSpec>> parse_specs(const std::vector<std::string>& texts) {
  std::vector<allocators::BackendSpec> specs;
  std::set<std::string> labels;
  for (const std::string& text : texts) {
    HEAPTAPE_ASSIGN_OR_RETURN(auto spec, allocators::parse_spec(text));
    if (!labels.insert(spec.label).second) {
      return Error{ErrorCode::kUsage,
                   "two allocators are called '" + spec.label +
                       "'; tell them apart by a label: -a 'mine=" + spec.backend + " ...'",
                   std::nullopt};
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

// Where a file is to go: checked before the work, not after it.
Status check_writable(const std::string& path) {
  if (path.empty()) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(
      const auto probe, schema::OutputFile::create(path, schema::OutputFile::IfAbandoned::kRemove));
  return {};
}

// A slip of the pen must not cost a tape, nor one result the other.
Status check_outputs(const ReplayCommandOptions& options) {
  const std::string& report = options.report_path;
  const std::string& csv = options.csv_path;
  for (const std::string& path : {report, csv}) {
    if (!path.empty() && schema::same_file(path, options.tape_path)) {
      return Error{ErrorCode::kUsage, "'" + path + "' is the tape: write to another file",
                   std::nullopt};
    }
  }
  if (!report.empty() && schema::same_file(report, csv)) {
    return Error{ErrorCode::kUsage,
                 "report and CSV cannot both go to '" + report + "': name two files", std::nullopt};
  }
  HEAPTAPE_RETURN_IF_ERROR(check_writable(report));
  return check_writable(csv);
}

std::string losses_text(const schema::TapeReader& tape) {
  const auto losses = tape.summary() ? tape.summary()->losses : schema::TapeLosses();
  std::string text = "losses: " + grouped(losses.lost_events) + " calls lost while recording";
  if (losses.unrepaired_inversions != 0) {
    text += ", " + grouped(losses.unrepaired_inversions) + " blocks handed out while alive";
  }
  if (losses.lost_ranges != 0) text += ", " + grouped(losses.lost_ranges) + " damaged stretches";
  return text + "\n";
}

Status replay_and_report(const ReplayCommandOptions& options, std::ostream& out) {
  ReplayOptions replay_options = options.replay;
  HEAPTAPE_ASSIGN_OR_RETURN(replay_options.specs, parse_specs(options.specs));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, schema::TapeReader::open(options.tape_path));
  HEAPTAPE_RETURN_IF_ERROR(check_outputs(options));
  Progress progress("replaying " + schema::display_text(options.tape_path));
  HEAPTAPE_ASSIGN_OR_RETURN(
      const auto runs,
      replay(tape, replay_options, [&progress](double share) { progress.show(share); }));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto report, build_report(tape, runs, replay_options));
  if (!options.report_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(schema::write_file(options.report_path, report.json));
  }
  if (!options.csv_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(schema::write_file(options.csv_path, report.timeline_csv));
  }
  out << run_table(report.figures) << losses_text(tape);
  return {};
}

}  // namespace

int run_replay(const ReplayCommandOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = replay_and_report(options, out);
  return status.ok() ? finish(out, err, kExitDone) : complain(err, status.error());
}

int run_allocators(std::ostream& out, std::ostream& err) {
  const schema::TapeHeader no_tape;
  size_t width = 0;
  for (const auto& entry : allocators::catalog()) width = std::max(width, entry.name.size());
  for (const auto& entry : allocators::catalog()) {
    out << entry.name << std::string(width - entry.name.size() + 2, ' ') << entry.description;
    const bool is_pattern = entry.name.find("PATH") != std::string::npos;
    if (!is_pattern) {
      const allocators::BackendSpec spec{entry.name, entry.name, {}};
      auto backend = allocators::make_backend(spec, {&no_tape, allocators::Touch::kNone});
      const bool loads = backend.ok() && (*backend)->start().ok();
      if (!loads) out << "  [not available here]";
    }
    out << "\n";
    out << schema::parameter_lines(entry.parameters, "    :");
  }
  return finish(out, err, kExitDone);
}

}  // namespace heaptape::replayer
