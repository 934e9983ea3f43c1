#include "replayer/report/report_builder.h"

#include <capnp/dynamic.h>
#include <capnp/message.h>

#include <string>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "replayer/report/process_fields.h"
#include "replayer/report/run_fields.h"
#include "replayer/report/run_verdict.h"
#include "replayer/report/site_fields.h"
#include "replayer/report/state_fields.h"
#include "replayer/report/tape_profile_fields.h"
#include "replayer/report/verdict_text.h"
#include "replayer/text/csv_field.h"
#include "replayer/text/metric_text.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report.capnp.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

// A column of the CSV: the path of its list in a timeline, and its name, that of the metric.
struct CsvColumn {
  std::string name;
  std::vector<capnp::StructSchema::Field> path = {};
};

void add_columns(capnp::StructSchema part, const CsvColumn& holder, std::vector<CsvColumn>& out) {
  for (const auto field : part.getFields()) {
    CsvColumn column = holder;
    column.path.push_back(field);
    column.name +=
        (column.name.empty() ? "" : ".") + std::string(field.getProto().getName().cStr());
    if (field.getType().isStruct()) {
      add_columns(field.getType().asStruct(), column, out);
    } else {
      out.push_back(std::move(column));
    }
  }
}

// Empty if the number is not known.
std::string cell(capnp::DynamicStruct::Reader timeline, const CsvColumn& column, unsigned row) {
  for (const auto field : column.path) {
    if (!field.getType().isStruct()) {
      const auto list = timeline.get(field).as<capnp::DynamicList>();
      return row < list.size() ? std::to_string(list[row].as<uint64_t>()) : "";
    }
    timeline = timeline.get(field).as<capnp::DynamicStruct>();
  }
  return "";
}

// A heading, and a line for each run and sample; the columns are the fields of Timeline in
// report.capnp.
std::string timeline_csv(wire::Report::Reader report) {
  std::vector<CsvColumn> columns;
  add_columns(capnp::Schema::from<wire::Timeline>(), {}, columns);
  std::string text = "run";
  for (const CsvColumn& column : columns) text += "," + column.name;
  text += "\n";
  for (const auto run : report.getRuns()) {
    const std::string label = csv_field(run.getLabel().cStr());
    for (unsigned row = 0; row < run.getTimeline().getAt().size(); ++row) {
      text += label;
      for (const CsvColumn& column : columns) text += "," + cell(run.getTimeline(), column, row);
      text += "\n";
    }
  }
  return text;
}

void set_tape(wire::TapeInfo::Builder out, const schema::TapeReader& tape) {
  const schema::TapeSummary summary = tape.summary().value_or(schema::TapeSummary());
  out.setPath(tape.path());
  out.setCommand(base::command_text(tape.header().command_line));
  out.setAllocator(tape.header().allocator);
  out.setAllocatorFamily(tape.header().recorded_allocator.family);
  out.setAllocatorVersion(tape.header().recorded_allocator.version);
  out.setLibc(tape.header().recorded_allocator.libc);
  out.setEvents(tape.events());
  out.setInheritedBlocks(tape.inherited_blocks());
  out.setAllocations(summary.allocations);
  out.setFrees(summary.frees);
  out.setReallocations(summary.reallocations);
  out.setThreads(summary.threads);
  out.setBytesPerEvent(ratio(tape.file_bytes(), tape.own_events()));
  auto losses = out.initLosses();
  losses.setLostEvents(summary.losses.lost_events);
  losses.setUnrepairedInversions(summary.losses.unrepaired_inversions);
  losses.setLostRanges(summary.losses.lost_ranges);
  set_inner_allocators(out, summary.inner_allocators);
  if (summary.largest_sample) set_process(out.initLargestSample(), *summary.largest_sample);
  if (!tape.header().origin.format.empty()) set_import(out.initImport(), tape.header().origin);
}

const char* touch_name(allocators::Touch touch) {
  switch (touch) {
    case allocators::Touch::kNone:
      return "none";
    case allocators::Touch::kPage:
      return "page";
    case allocators::Touch::kAll:
      return "all";
  }
  return "?";
}

void set_run(wire::Run::Builder out, const RunResult& result, const ReplayOptions& options) {
  std::string backend = result.spec.text;
  for (const std::string& variable : result.spec.environment) backend += " " + variable;
  out.setLabel(result.spec.label);
  out.setBackend(backend);
  out.setThreads(result.metrics.threads);
  out.setTouch(result.spec.runs_real_code() ? touch_name(options.touch) : "none");
  if (result.spec.runs_real_code()) {
    out.setClock(options.clock == allocators::Clock::kTape ? "tape" : "real");
  }
  if (result.spec.runs_real_code() && !result.failure) {
    auto allocator = out.initAllocator();
    allocator.setFamily(result.spec.family());
    allocator.setVersion(result.version);
    allocator.setLibrary(result.library);
  }
  if (!result.notes.empty()) {
    auto notes = out.initNotes(static_cast<unsigned>(result.notes.size()));
    for (unsigned i = 0; i < notes.size(); ++i) notes.set(i, result.notes[i]);
  }
  if (result.failure) {
    out.initFailure().setEvent(result.failure->event);
    out.getFailure().setText(result.failure->text);
  } else {
    set_metrics(out, result.metrics);
    set_spreads(out, result.repeats);
  }
}

void set_verdict(wire::Verdict::Builder out, const Verdict& verdict) {
  out.setHeadline(headline(verdict));
  out.setRun(verdict.run.label);
  out.setMoment(verdict.moment);
  out.setHeldBytes(verdict.held_bytes);
  out.setLiveBytes(verdict.live_bytes);
  out.setErrorShare(verdict.error_share);
  auto findings = out.initFindings(static_cast<unsigned>(verdict.findings.size()));
  for (unsigned i = 0; i < findings.size(); ++i) {
    const Finding& finding = verdict.findings[i];
    findings[i].setKind(kind_name(finding.kind));
    findings[i].setBytes(finding.bytes);
    findings[i].setErrorBytes(finding.error_bytes);
    findings[i].setEvidence(evidence(verdict, finding));
    findings[i].setAction(action(verdict, finding, kSomeTape));
    if (finding.allocator) findings[i].setAllocator(finding.allocator->label);
    if (!finding.site.empty()) findings[i].setSite(finding.site);
    if (!finding.pins) continue;
    auto pins = findings[i].initPins();
    pins.setSizeBytes(finding.pins->size_bytes);
    pins.setCount(finding.pins->count);
    pins.setBytes(finding.pins->resident_hole_bytes);
    pins.setFirstBirth(finding.pins->first_birth);
    pins.setLastBirth(finding.pins->last_birth);
  }
}

// The verdict is in `verdict_json`.
void leave_out_long_lists(wire::Report::Builder report) {
  report.disownVerdict();
  report.getTape().disownSites();
  report.getTape().disownStacks();
  for (auto run : report.getRuns()) {
    run.disownTimeline();
    for (auto state : {run.getAtPeak(), run.getAtPlateau(), run.getAtExit(), run.getEnd()}) {
      state.disownPins();
    }
  }
}

base::Result<BuiltReport> build(const schema::TapeReader& tape, const std::vector<RunResult>& runs,
                                const ReplayOptions& options, const RankedSites* sites,
                                const NameSites& name_sites) {
  capnp::MallocMessageBuilder message(1 << 16);
  auto report = message.initRoot<wire::Report>();
  report.setVersion(wire::REPORT_VERSION);
  set_tape(report.initTape(), tape);
  if (sites != nullptr) {
    set_tape_sites(report.getTape().initSites(), sites->table, sites->sites);
    schema::set_stack_tree(report.getTape().initStacks(), sites->stacks);
  }
  auto moments = report.initMoments(static_cast<unsigned>(options.moments.size()));
  for (unsigned i = 0; i < moments.size(); ++i) set_moment(moments[i], options.moments[i]);
  if (!options.process.empty()) set_process_timeline(report.initProcess(), options.process);
  auto list = report.initRuns(static_cast<unsigned>(runs.size()));
  for (unsigned i = 0; i < list.size(); ++i) set_run(list[i], runs[i], options);
  for (const RunResult& run : runs) {
    if (run.program && !report.hasProgram()) {
      set_program(report.initProgram(), *run.program, run.metrics.end.live);
      // Invented addresses do not show which resizes moved.
      if (tape.header().origin.lacks(schema::Absent::kAddresses)) {
        report.getProgram().disownResizes();
      }
    }
  }
  BuiltReport built;
  built.figures = schema::figures_of(report.asReader());
  built.verdict = judge_runs(tape.header(), built.figures, runs, options);
  if (name_sites) HEAPTAPE_RETURN_IF_ERROR(name_sites(built.verdict));
  set_verdict(report.initVerdict(), built.verdict);
  HEAPTAPE_ASSIGN_OR_RETURN(built.json, schema::to_json(report.asReader()));
  built.verdict_json = schema::json_text(report.getVerdict().asReader());
  built.timeline_csv = timeline_csv(report.asReader());
  for (const auto run : report.asReader().getRuns()) {
    built.timelines.push_back(schema::timeline_of(run));
  }
  leave_out_long_lists(report);
  built.short_json = schema::compact_json_text(report.asReader());
  return built;
}

}  // namespace

base::Result<BuiltReport> build_report(const schema::TapeReader& tape,
                                       const std::vector<RunResult>& runs,
                                       const ReplayOptions& options, const RankedSites* sites,
                                       const NameSites& name_sites) {
  return schema::guard_kj(base::ErrorCode::kIo, "cannot build the report",
                          [&] { return build(tape, runs, options, sites, name_sites); });
}

}  // namespace heaptape::replayer
