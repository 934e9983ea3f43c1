#include "replayer/report/run_table.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/check.h"
#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/report/figure_table.h"
#include "replayer/report/run_summary.h"
#include "replayer/text/metric_text.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

using allocators::BackendKind;
using schema::MetricUnit;
using schema::RunFigures;

std::string number(const RunFigures& run, const char* metric) {
  return value_text(run.metric(metric), MetricUnit::kCount);
}

std::string program_text(const RunFigures& run) {
  const auto bytes = [&run](const char* metric) {
    return value_text(run.metric(metric), MetricUnit::kBytes);
  };
  return "live peak " + bytes("peak.liveBytes") + " at #" + number(run, "peak.liveBytes.at") +
         " (" + number(run, "peak.liveCount") + " blocks at most); requested " +
         bytes("end.cumulativeBytesUpper") + " in all, " + bytes("end.cumulativeBytesLower") +
         " without old sizes of reallocs\n";
}

std::string accounting_text(const RunFigures& run) {
  return number(run, "accounting.recorded") + " recorded = " + number(run, "accounting.replayed") +
         " replayed + " + number(run, "accounting.failedCalls") + " failed when recorded + " +
         number(run, "accounting.unknownFrees") + " frees of unknown blocks + " +
         number(run, "accounting.refused") + " refused";
}

// Text that several runs share, with their labels, in the order of the runs.
using Shared = std::vector<std::pair<std::string, std::string>>;

void add_to(Shared& list, const std::string& text, const std::string& label) {
  const auto same = std::ranges::find(list, text, &Shared::value_type::first);
  if (same == list.end()) {
    list.emplace_back(text, label);
  } else {
    same->second += ", " + label;
  }
}

// One line for all runs with the same account, usually all of them.
std::string accounting_lines(const std::vector<RunFigures>& runs) {
  Shared lines;
  for (const RunFigures& run : runs) {
    if (run.failure.empty()) add_to(lines, accounting_text(run), run.label);
  }
  std::string text;
  for (const auto& [account, labels] : lines) {
    text += "events: " + account + (lines.size() > 1 ? " (" + labels + ")" : "") + "\n";
  }
  return text;
}

// How the calls were made; empty if there is nothing to say.
std::string modes_text(const RunFigures& run, const RunResult& result, uint64_t tape_threads) {
  const bool is_native = result.spec.kind == BackendKind::kNative;
  std::vector<std::string> modes;
  if (is_native && !result.version.empty()) {
    modes.push_back("version " + base::display_text(result.version));
  }
  if (tape_threads != 1) modes.push_back("threads " + run.threads);
  if (is_native) {
    modes.push_back("clock " + run.clock);
    modes.push_back("touch " + run.touch);
  }
  std::string text;
  for (const std::string& mode : modes) text += (text.empty() ? "" : ", ") + mode;
  return text;
}

// Sets no expectation for a model that imitates no allocator.
std::string fidelity_text(const RunFigures& run, const allocators::BackendSpec& spec) {
  if (!run.incomparable.empty()) return spec.imitates_nobody() ? "" : run.incomparable;
  const auto compared = run.metric("fidelity.comparedBlocks");
  const auto share = run.metric("fidelity.sameOffsetShare");
  if (!compared || !share || schema::number_of(*compared) == 0) return "";
  std::string text = base::ratio_text(static_cast<double>(schema::number_of(*share)) * 100) +
                     "% of " + value_text(compared, MetricUnit::kCount) +
                     " blocks at their recorded offset";
  const auto first = run.metric("fidelity.firstDifference");
  if (first && schema::number_of(*first) != 0) {
    text += ", the first other is #" + value_text(first, MetricUnit::kCount);
  }
  return text;
}

// How the run was replayed, and how closely it matches the recorded one.
std::string replayed_line(const RunFigures& run, const RunResult& result, uint64_t tape_threads) {
  const BackendKind kind = result.spec.kind;
  if (kind == BackendKind::kRecorded || kind == BackendKind::kNoop || !run.failure.empty()) {
    return "";
  }
  const std::string modes = modes_text(run, result, tape_threads);
  const std::string fidelity = fidelity_text(run, result.spec);
  if (modes.empty() && fidelity.empty()) return "";
  const char* const separator = modes.empty() || fidelity.empty() ? "" : "; ";
  return "replayed: " + run.label + ": " + modes + separator + fidelity + "\n";
}

// The counters of a model, if it has any.
std::string counter_lines(const RunFigures& run, BackendKind kind) {
  constexpr size_t kMostColumns = 118;
  if (kind != BackendKind::kModel && kind != BackendKind::kPlugin) return "";
  std::string text = "counters: " + run.label + ":";
  size_t columns = text.size();
  const char* separator = " ";
  for (const schema::Metric& metric : run.metrics) {
    if (!metric.name.starts_with(schema::kCounterPrefix) || schema::number_of(metric.value) == 0) {
      continue;
    }
    const std::string counter = metric.name.substr(schema::kCounterPrefix.size()) + " " +
                                value_text(metric.value, MetricUnit::kCount);
    if (columns + counter.size() + 2 > kMostColumns) {
      separator = "\n    ";
      columns = 2;
    }
    text += separator + counter;
    columns += counter.size() + 2;
    separator = ", ";
  }
  return *separator == ',' ? text + "\n" : "";
}

// The spread of the repeats, if there were any.
std::string times_lines(const std::vector<RunFigures>& runs) {
  Shared lines;
  for (const RunFigures& run : runs) {
    const auto repeats = run.metric("time.repeats");
    if (!repeats || schema::number_of(*repeats) <= 1) continue;
    const std::string spread =
        run.label + " " + value_text(run.metric("time.nsPerEventMin"), MetricUnit::kNs) + " to " +
        value_text(run.metric("time.nsPerEventMax"), MetricUnit::kNs);
    add_to(lines, "times: medians of " + value_text(repeats, MetricUnit::kCount) + " replays",
           spread);
  }
  std::string text;
  for (const auto& [head, spreads] : lines) text += head + "; ns per event " + spreads + "\n";
  return text;
}

std::string failure_line(const RunFigures& run) {
  return run.failure.empty() ? "" : "failed: " + run.label + " " + run.failure + "\n";
}

// One line for all runs with the note. If every replay has it, and there are many, "all replays" is
// shorter than their labels.
std::string note_lines(const schema::ReportFigures& report, const std::vector<RunResult>& results) {
  constexpr auto kMany = 3;
  const auto replays = std::ranges::count_if(results, [](const RunResult& result) {
    const BackendKind kind = result.spec.kind;
    return kind != BackendKind::kRecorded && kind != BackendKind::kNoop && !result.failure;
  });
  Shared lines;
  for (const RunFigures& run : report.runs) {
    for (const std::string& note : run.notes) add_to(lines, note, run.label);
  }
  std::string text;
  for (const Shared::value_type& line : lines) {
    const std::string& note = line.first;
    const auto noted = std::ranges::count_if(report.runs, [&note](const RunFigures& run) {
      return std::ranges::find(run.notes, note) != run.notes.end();
    });
    const bool is_of_all = noted == replays && replays >= kMany;
    text += "note: " + (is_of_all ? "all replays" : line.second) + ": " + note + "\n";
  }
  return text;
}

// The effect of each --do.
std::string action_lines(const RunResult& run) {
  const auto change = [](uint64_t before, uint64_t after) {
    return base::bytes_text(before) + " -> " + base::bytes_text(after);
  };
  std::string text;
  for (const ActionResult& action : run.metrics.actions) {
    text += action.action + ": " + base::display_text(run.spec.label) + ": after #" +
            base::grouped(action.at) + ": committed " +
            change(action.before.committed_bytes, action.after.committed_bytes) + ", resident " +
            change(action.before.resident_bytes, action.after.resident_bytes) +
            (run.metrics.is_timed
                 ? ", took " + base::duration_text(static_cast<double>(action.elapsed_ns))
                 : "") +
            "\n";
  }
  return text;
}

std::string growth_lines(const RunFigures& run) {
  std::string text;
  for (const std::string& verdict : run.growth_verdicts) {
    text += "growth: " + run.label + ": " + verdict + "\n";
  }
  return text;
}

// Ends of metrics, in the order in which a narrow terminal omits them: first what another column or
// table nearly says, then details. In the overview, resident bytes at both moments stay longest.
constexpr std::string_view kLeastOfOverview[] = {
    "peak.residentBytes",   "atPeak.residentHoleBytes", "atPeak.account.purgeableBytes",
    "peak.distanceToIdeal", ".account.purgeableBytes",  "time.nsPerEvent",
    "peak.committedBytes",  ".residentHoleBytes"};
constexpr std::string_view kLeastOfAccount[] = {".committedBytes", ".residentBytes",
                                                ".account.returnedBytes", ".account.topBytes"};

std::vector<size_t> columns_of(std::span<const std::string_view> least_first,
                               const std::vector<std::string>& metrics) {
  std::vector<size_t> columns;
  for (const std::string_view least : least_first) {
    for (size_t i = 0; i < metrics.size(); ++i) {
      if (metrics[i].ends_with(least)) columns.push_back(i + 1);  // after the labels
    }
  }
  return columns;
}

std::string text_of(const FigureTable& table, std::span<const std::string_view> least_first,
                    size_t width) {
  return aligned_within(width, text_rows(table), columns_of(least_first, table.metrics));
}

}  // namespace

std::string run_table(const schema::ReportFigures& report, const std::vector<RunResult>& runs,
                      size_t width) {
  HEAPTAPE_CHECK(report.runs.size() == runs.size());
  std::string text = report.tape_path + ": " + base::counted(report.tape_events, "event") + "\n";
  const auto whole =
      std::ranges::find_if(report.runs, [](const RunFigures& run) { return run.failure.empty(); });
  if (whole != report.runs.end()) text += program_text(*whole) + moment_lines(report);
  text += "\n";
  text += text_of(overview_table(report, runs), kLeastOfOverview, width) + "\n";
  const FigureTable account = account_table(report.runs, runs);
  if (!account.rows.empty()) text += text_of(account, kLeastOfAccount, width) + "\n";
  return text + run_lines(report, runs);
}

std::string recorded_sizes_text(const schema::ReportFigures& report,
                                const std::vector<RunResult>& runs) {
  const std::vector<RunFigures>& figures = report.runs;
  const bool is_split = std::ranges::any_of(report.moments, [](const auto& moment) {
    return moment.process && moment.process->malloc_bytes;
  });
  if (runs.size() < 2) return "";
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto resident = figures[i].metric("peak.residentBytes");
    if (runs[i].spec.kind != BackendKind::kRecorded || !resident) continue;
    if (schema::number_of(*resident) == 0) continue;
    return figures[i].label + ": resident sizes cover " +
           (is_split ? "malloc's part" : "all anonymous memory") +
           " of the process, as sampled nearest to the moment";
  }
  return "";
}

std::string run_lines(const schema::ReportFigures& report, const std::vector<RunResult>& runs) {
  HEAPTAPE_CHECK(report.runs.size() == runs.size());
  std::string text = accounting_lines(report.runs);
  for (const RunFigures& run : report.runs) text += failure_line(run);
  for (size_t i = 0; i < runs.size(); ++i) {
    text += replayed_line(report.runs[i], runs[i], report.tape_threads);
  }
  for (const RunResult& run : runs) text += action_lines(run);
  text += times_lines(report.runs) + note_lines(report, runs);
  const std::string recorded = recorded_sizes_text(report, runs);
  if (!recorded.empty()) text += "note: " + recorded + "\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    text += counter_lines(report.runs[i], runs[i].spec.kind) + growth_lines(report.runs[i]);
  }
  return text;
}

}  // namespace heaptape::replayer
