#include "cli/process_list.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/wrong_file.h"
#include "replayer/report/tape_stats.h"
#include "replayer/text/text_table.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using base::Error;
using base::quoted;
using schema::ManifestProcess;

// Bytes of a title.
constexpr size_t kLongTitle = 60;
constexpr size_t kShortTitle = 32;
constexpr size_t kWideTable = 160;

std::string title_of(const ManifestProcess& process) {
  return process.title.empty() ? schema::title_of(process.command_line) : process.title;
}

// Bytes of malloc, as far as known, then calls.
std::pair<uint64_t, uint64_t> weight(const ManifestProcess& process) {
  const auto& sample = process.largest_sample;
  if (!sample) return {0, process.events};
  return {sample->parts.malloc_bytes.value_or(sample->resident_bytes), process.events};
}

std::optional<uint64_t> peak_of_live_bytes(const ManifestProcess& process) {
  return process.live ? std::optional(process.live->peak) : std::nullopt;
}

bool has_live_bytes(const schema::Manifest& manifest) {
  return std::ranges::any_of(manifest.processes,
                             [](const auto& process) { return process.live.has_value(); });
}

bool has_intervals(const schema::Manifest& manifest) {
  return std::ranges::any_of(manifest.processes,
                             [](const auto& process) { return process.interval != 1; });
}

// Several intervals have tapes of the same processes.
const char* tapes_or_processes(bool has_intervals) {
  return has_intervals ? "tapes" : "processes";
}

bool has_text(const ManifestProcess& process, const std::string& text) {
  return title_of(process).find(text) != std::string::npos ||
         process.executable.find(text) != std::string::npos ||
         process.tape.find(text) != std::string::npos;
}

bool passes(const ManifestProcess& process, const ProcessFilter& filter) {
  return process.events >= filter.min_events && has_text(process, filter.text);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Cut at the end of a character.
std::string short_title(const ManifestProcess& process, size_t longest) {
  std::string title = base::display_text(title_of(process));
  if (title.size() <= longest) return title;
  size_t end = longest - 3;
  while (end > 0 && (static_cast<unsigned char>(title[end]) & 0xc0) == 0x80) --end;
  return title.substr(0, end) + "...";
}

std::string bytes_cell(const std::optional<uint64_t>& bytes) {
  return bytes ? base::bytes_text(*bytes) : "-";
}

// The columns that not every table has.
struct MoreColumns {
  bool live = false;
  bool interval = false;
};

replayer::TableRow row_of(const ManifestProcess& process, const std::string& title,
                          MoreColumns more) {
  std::optional<uint64_t> anonymous;
  std::optional<uint64_t> of_malloc;
  std::optional<uint64_t> beside;
  if (const auto& sample = process.largest_sample) {
    anonymous = sample->resident_bytes;
    of_malloc = sample->parts.malloc_bytes;
    if (of_malloc) beside = *anonymous - *of_malloc;
  }
  replayer::TableRow row{title,
                         std::to_string(process.pid),
                         bytes_cell(anonymous),
                         bytes_cell(of_malloc),
                         bytes_cell(beside),
                         base::grouped(process.events),
                         base::grouped(process.lost_events),
                         std::to_string(process.parent_pid),
                         base::display_text(process.ended),
                         base::display_text(process.tape)};
  if (more.live) {
    const std::optional<schema::LiveBytes>& live = process.live;
    row.insert(row.begin() + 2, {live ? base::bytes_text(live->peak) : "-",
                                 live ? base::bytes_text(live->end) : "-"});
  }
  if (more.interval) row.insert(row.begin() + 2, std::to_string(process.interval));
  return row;
}

// A name as the recorder writes it, so that a manifest leads to no other directory.
base::Result<std::string> path_of_tape(const std::string& manifest, const std::string& name) {
  if (!schema::is_name_beside(name)) {
    return Error::foreign(quoted(manifest) + " does not name a tape beside it");
  }
  return (std::filesystem::path(manifest).parent_path() / name).string();
}

base::Result<schema::LiveBytes> live_bytes_of(const std::string& path,
                                              const std::function<void(double)>& progress) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, schema::TapeReader::open(path, schema::OnDamage::kStop));
  replayer::TapeCounts counts(tape.events());
  HEAPTAPE_RETURN_IF_ERROR(replayer::count_tape(tape, counts, progress));
  const replayer::LiveMetrics& live = counts.resolver.live();
  return schema::LiveBytes{live.live_bytes_peak().value, live.values().live_bytes};
}

std::string unrecorded_lines(const schema::Manifest& manifest) {
  std::string text;
  for (const schema::ManifestUnrecorded& entry : manifest.unrecorded) {
    text += (entry.families.empty() ? "not recorded: " : "not seen in full: ") +
            base::grouped(entry.times) + " x " + base::display_text(entry.program) + " (" +
            base::display_text(entry.reason) + ")\n";
  }
  return text;
}

std::string program_of(const ManifestProcess& process) {
  return std::filesystem::path(process.executable).filename();
}

// Leaves those with the pid `which`; those of the program `which`; or those that have it as text.
void select_process(std::vector<ManifestProcess>& processes, const std::string& which) {
  if (which.empty()) return;
  if (is_number(which)) {
    std::erase_if(processes, [&which](const ManifestProcess& process) {
      return std::to_string(process.pid) != which;
    });
    return;
  }
  const bool is_program = std::ranges::find(processes, which, program_of) != processes.end();
  std::erase_if(processes, [&](const ManifestProcess& process) {
    return is_program ? program_of(process) != which : !has_text(process, which);
  });
}

}  // namespace

std::vector<size_t> successors_of_command(const schema::Manifest& manifest) {
  std::map<uint32_t, size_t> last;  // by interval
  for (size_t i = 0; i < manifest.processes.size(); ++i) {
    const ManifestProcess& process = manifest.processes[i];
    if (process.pid == manifest.processes[0].pid) last[process.interval] = i;
  }
  std::vector<size_t> successors;
  for (const auto& [interval, process] : last) successors.push_back(process);
  return successors;
}

void select(schema::Manifest& manifest, const ProcessFilter& filter) {
  auto& processes = manifest.processes;
  std::erase_if(processes,
                [&filter](const ManifestProcess& process) { return !passes(process, filter); });
  const auto heavier = [](const ManifestProcess& a, const ManifestProcess& b) {
    return weight(a) > weight(b);
  };
  if (!filter.order && has_live_bytes(manifest)) {
    std::ranges::stable_sort(processes, std::ranges::greater{}, peak_of_live_bytes);
    return;
  }
  switch (filter.order.value_or(ProcessOrder::kMemory)) {
    case ProcessOrder::kMemory:
      std::ranges::stable_sort(processes, heavier);
      break;
    case ProcessOrder::kCalls:
      std::ranges::stable_sort(processes, std::ranges::greater{}, &ManifestProcess::events);
      break;
    case ProcessOrder::kPid:
      std::ranges::stable_sort(processes, {}, &ManifestProcess::pid);
      break;
    case ProcessOrder::kTitle:
      std::ranges::stable_sort(processes, {}, title_of);
      break;
  }
}

bool count_live_bytes(schema::Manifest& manifest, const ProcessFilter& filter,
                      const std::string& path, Console& console) {
  std::vector<ManifestProcess*> wanted;
  for (ManifestProcess& process : manifest.processes) {
    if (passes(process, filter)) wanted.push_back(&process);
  }
  std::vector<std::string> unknown;
  Progress progress(console, "counting");
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto show = [&](double share) {
      progress.show((static_cast<double>(i) + share) / static_cast<double>(wanted.size()));
    };
    const auto tape = path_of_tape(path, wanted[i]->tape);
    const auto live = tape.ok() ? live_bytes_of(*tape, show) : tape.error();
    if (live.ok()) {
      wanted[i]->live = *live;
    } else {
      unknown.push_back(std::to_string(wanted[i]->pid) + ": " + live.error().message);
    }
  }
  if (unknown.empty()) return true;
  console.print_error(
      "the live bytes are not known of process " + unknown[0] +
      (unknown.size() == 1 ? "" : "; nor of " + base::grouped(unknown.size() - 1) + " more"));
  return false;
}

std::string process_table(const schema::Manifest& selected, const schema::Manifest& all,
                          size_t width) {
  std::string text = "command    " + base::command_text(all.command) + "\n";
  const MoreColumns more{has_live_bytes(selected), has_intervals(all)};
  text += base::format_text("%-11s", tapes_or_processes(more.interval)) +
          base::grouped(all.processes.size());
  if (selected.processes.size() != all.processes.size()) {
    text += ", " + base::grouped(selected.processes.size()) + " of them below";
  }
  text += "\n";
  if (!selected.processes.empty()) {
    std::set<std::string> commands;  // tapes
    for (const size_t i : successors_of_command(all)) commands.insert(all.processes[i].tape);
    const size_t longest = width < kWideTable ? kShortTitle : kLongTitle;
    std::vector<replayer::TableRow> rows{{"  title", "process", "anonymous", "malloc",
                                          "beside malloc", "calls", "lost", "parent", "ended",
                                          "tape"}};
    if (more.live) rows[0].insert(rows[0].begin() + 2, {"peak live", "live at end"});
    if (more.interval) rows[0].insert(rows[0].begin() + 2, "interval");
    for (const ManifestProcess& process : selected.processes) {
      const char* const mark = commands.contains(process.tape) ? "* " : "  ";
      rows.push_back(row_of(process, mark + short_title(process, longest), more));
    }
    const size_t moved = (more.live ? 2 : 0) + (more.interval ? 1 : 0);
    text += "\n" +
            replayer::aligned_within(width, rows, {8 + moved, 7 + moved, 6 + moved, 4 + moved}) +
            "*: what the command became. Memory: the highest sample, of malloc and beside it\n";
  }
  return text + unrecorded_lines(all);
}

base::Result<std::string> choose_tape(const std::string& path, const std::string& process,
                                      Console& console) {
  if (!is_manifest(path)) {
    if (process.empty()) return path;
    return Error::usage("--process chooses a tape of a manifest, and " + quoted(path) +
                        " is none: give TAPE.manifest.json");
  }
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Manifest manifest, schema::read_manifest(path));
  const size_t all = manifest.processes.size();
  const char* const what = tapes_or_processes(has_intervals(manifest));
  select_process(manifest.processes, process);
  if (manifest.processes.empty()) {
    return Error::usage("no process of " + quoted(path) +
                        (process.empty()
                             ? " was recorded"
                             : " is " + quoted(process) + ": `heaptape info` lists them"));
  }
  const auto largest = std::ranges::max_element(manifest.processes, {}, weight);
  HEAPTAPE_ASSIGN_OR_RETURN(std::string tape, path_of_tape(path, largest->tape));
  if (all > 1) {
    console.print_note(quoted(tape) + " of " + base::grouped(all) + " " + what + ": " +
                       short_title(*largest, kLongTitle) +
                       (manifest.processes.size() == 1 ? "" : ", the largest"));
  }
  return tape;
}

}  // namespace heaptape::cli
