#include "cli/commands.h"

#include <algorithm>
#include <ostream>

#include "base/display_text.h"
#include "base/name_list.h"
#include "base/number_text.h"
#include "cli/bigger_tape.h"
#include "cli/tape_reading.h"
#include "cli/wrong_file.h"
#include "replayer/report/tape_facts.h"

namespace heaptape::cli {
namespace {

using schema::TapeReader;
using schema::TapeSummary;

std::string per_event_text(const TapeReader& tape) {
  const uint64_t events = tape.own_events();
  if (events == 0) return "";
  const auto bytes = static_cast<double>(tape.file_bytes());
  return base::format_text(", %.3f bytes per event", bytes / static_cast<double>(events));
}

// "/usr/lib/libjemalloc.so.2 (jemalloc 5.3.0)"
std::string allocator_text(const schema::TapeHeader& header) {
  const std::string name = schema::name_of(header.recorded_allocator);
  return name.empty() ? header.allocator : header.allocator + " (" + name + ")";
}

// A tape that no program recorded, such as a scenario's, has neither process nor date.
void print_origin(const schema::TapeHeader& header, std::ostream& out) {
  const std::string writer = base::display_text(header.writer);
  if (!header.origin.format.empty()) {
    const auto absent = schema::absent_names(header.origin);
    out << "imported   from a trace in the format " << base::display_text(header.origin.format)
        << " by " << writer << "\n"
        << "lacks      " << (absent.empty() ? "nothing" : base::name_list(absent)) << "\n";
    return;
  }
  const bool is_recorded = !header.recorded_allocator.libc.empty();
  if (header.pid == 0 && header.executable.empty() && header.start_unix_ns == 0 && is_recorded) {
    out << "program    removed by `heaptape scrub`\n"
        << "allocator  " << base::display_text(allocator_text(header)) << "\n"
        << "libc       " << base::display_text(header.recorded_allocator.libc) << "\n"
        << "recorded   by " << writer << "\n";
    return;
  }
  if (header.pid == 0 && header.executable.empty() && header.start_unix_ns == 0) {
    out << "program    none: " << base::display_text(header.allocator) << ", written by " << writer
        << "\n";
    return;
  }
  out << "program    " << base::display_text(header.executable) << ", process " << header.pid
      << ", child of " << header.parent_pid << "\n"
      << "allocator  " << base::display_text(allocator_text(header)) << "\n";
  if (!header.recorded_allocator.libc.empty()) {
    out << "libc       " << base::display_text(header.recorded_allocator.libc) << "\n";
  }
  out << "recorded   " << replayer::utc_text(header.start_unix_ns) << " by " << writer << "\n";
}

void print_header(const TapeReader& tape, std::ostream& out) {
  const schema::TapeHeader& header = tape.header();
  out << "tape       " << base::display_text(tape.path()) << ", "
      << base::bytes_text(tape.file_bytes()) << per_event_text(tape) << "\n";
  if (!header.command_line.empty()) {
    out << "command    " << base::command_text(header.command_line) << "\n";
  }
  print_origin(header, out);
  for (const std::string& setting : header.settings) {
    out << "setting    " << base::display_text(setting) << "\n";
  }
}

constexpr size_t kMostThreadsPrinted = 16;

// Threads known by more than their number.
void print_threads(const TapeSummary& summary, const schema::TapeOrigin& origin,
                   std::ostream& out) {
  if (origin.lacks(schema::Absent::kThreads)) {
    out << "threads    not in this trace\n";
    return;
  }
  out << "threads    " << base::grouped(summary.threads) << "\n";
  const auto& list = summary.thread_list;
  const size_t printed = std::min(list.size(), kMostThreadsPrinted);
  for (size_t i = 0; i < printed; ++i) {
    out << "  t" << i << " " << base::display_text(list[i].name) << ", id " << list[i].id << "\n";
  }
  if (list.size() > printed) {
    out << "  ... (`heaptape stats --json` lists all)\n";
  }
}

// How long it ran and how it ended; imported traces lack the latter.
std::string ran_text(const TapeSummary& summary, const schema::TapeOrigin& origin) {
  const std::string time = base::duration_text(static_cast<double>(summary.duration_ns));
  if (origin.format.empty()) return time + ", " + replayer::end_text(summary);
  return origin.lacks(schema::Absent::kTimes) ? "not in this trace" : time;
}

// At its peak, as far as it was sampled.
void print_memory(const TapeSummary& summary, std::ostream& out) {
  const auto& sample = summary.largest_sample;
  if (!sample) return;
  const schema::ProcessParts& parts = sample->parts;
  out << "memory     " << schema::memory_text(*sample, summary.inner_allocators)
      << " (highest sample, at " << base::duration_text(static_cast<double>(sample->time_ns))
      << ")\n           " << base::bytes_text(parts.file_bytes) << " of files and "
      << base::bytes_text(parts.shared_bytes) << " of shared memory were resident with it";
  if (parts.huge_bytes != 0) {
    out << ", and " << base::bytes_text(parts.huge_bytes) << " of pages of hugetlbfs";
  }
  if (parts.peak_bytes != 0) out << "; at most " << base::bytes_text(parts.peak_bytes) << " in all";
  out << "\n";
}

void print_summary(const TapeSummary& summary, const schema::TapeOrigin& origin,
                   std::ostream& out) {
  out << "events     " << base::grouped(summary.events) << " = "
      << base::counted(summary.allocations, "allocation") << " + "
      << base::counted(summary.frees, "free") << " + "
      << base::counted(summary.reallocations, "reallocation") << "; "
      << base::grouped(summary.failed) << " failed\n";
  print_threads(summary, origin, out);
  print_memory(summary, out);
  if (summary.late_ns != 0) {
    out << "began      " << base::duration_text(static_cast<double>(summary.late_ns))
        << " after the process: earlier calls are not on the tape";
    if (summary.unknown_frees != 0) {
      out << ", and " << unseen_frees_text(summary);
    }
    out << "\n";
  }
  out << "ran        " << ran_text(summary, origin) << "\n"
      << "losses     " << losses_text(summary) << "\n"
      << "recorder   " << base::counted(summary.stalls, "stall") << " ("
      << base::duration_text(static_cast<double>(summary.stall_ns)) << "), "
      << base::counted(summary.repaired_inversions, "repaired inversion")
      << ", frees of unknown blocks: " << base::grouped(summary.unknown_frees) << ", "
      << base::counted(summary.nested_calls, "nested call") << ", "
      << base::counted(summary.bootstrap_calls, "bootstrap call") << "\n";
}

std::string calls_with_stacks(const schema::StackRecording& stacks) {
  const std::string sampled = "calls chosen at random, about one per " +
                              base::bytes_text(stacks.every_bytes) + " requested";
  if (stacks.sizes.empty()) return stacks.every_bytes == 0 ? "all calls" : sampled;
  const std::string by_size = "all calls for " + schema::sizes_text(stacks.sizes);
  return by_size + (stacks.every_bytes == 0 ? " and no others" : ", and of other " + sampled);
}

void print_stacks(const schema::StackRecording& stacks, std::ostream& out) {
  const char* const by =
      stacks.mode == schema::StackMode::kFramePointers ? "frame pointers" : "unwind tables";
  out << "stacks     found by " << by << ", up to " << base::counted(stacks.depth, "frame")
      << ", of " << calls_with_stacks(stacks) << "; `heaptape stats --by site` lists call sites\n";
}

void print_inheritance(const TapeReader& tape, std::ostream& out) {
  if (!tape.inherited_problem().empty()) {
    out << "inherited  " << base::display_text(tape.inherited_problem()) << "\n";
  }
  if (tape.dropped_calls() != 0) {
    out << "last calls " << base::counted(tape.dropped_calls(), "earlier call")
        << (tape.dropped_calls() == 1 ? " was" : " were") << " dropped; the tape begins with "
        << base::counted(tape.inherited_blocks(), "block") << " that "
        << (tape.inherited_blocks() == 1 ? "was" : "were") << " live then\n";
    return;
  }
  if (tape.inherited_blocks() == 0) return;
  out << "inherited  " << base::counted(tape.inherited_blocks(), "block");
  if (tape.joined_blocks() != 0) {
    uint64_t bytes = 0;
    for (const schema::Event& block : tape.joined()) bytes += block.size;
    out << ", " << base::bytes_text(bytes) << ", live when it was forked: after "
        << base::counted(tape.inheritance()->events, "call") << " on "
        << base::display_text(tape.inheritance()->tape);
  }
  out << "; they come before its own calls\n";
}

void print_keyframes(const TapeReader& tape, std::ostream& out) {
  const std::vector<uint64_t> calls = tape.keyframes();
  if (calls.empty()) return;
  out << "keyframes  " << base::grouped(calls.size()) << ", the first after "
      << base::counted(calls.front(), "call")
      << "; `heaptape explain -a recorded --at` uses them\n";
}

void print(const TapeReader& tape, std::ostream& out) {
  print_header(tape, out);
  print_inheritance(tape, out);
  if (tape.summary()) {
    print_summary(*tape.summary(), tape.header().origin, out);
  } else {
    out << "events     " << base::grouped(tape.events()) << " so far; the end is missing\n";
  }
  const schema::StackRecording& stacks = tape.header().stacks;
  if (stacks.mode != schema::StackMode::kNone) print_stacks(stacks, out);
  print_keyframes(tape, out);
}

int list_processes(const InfoOptions& options, Console& console) {
  auto all = schema::read_manifest(options.path);
  if (!all.ok()) return console.fail(all.error());
  const bool is_whole =
      !options.live || count_live_bytes(*all, options.processes, options.path, console);
  schema::Manifest selected = *all;
  select(selected, options.processes);
  if (options.format == Format::kText) {
    console.print_text(process_table(selected, *all, console.table_width()));
  } else {
    const auto json = schema::to_json(selected);
    if (!json.ok()) return console.fail(json.error());
    console.out() << *json;
  }
  return console.finish(is_whole ? kExitDone : kExitFailed);
}

}  // namespace

int run_info(const InfoOptions& options, Console& console) {
  if (is_manifest(options.path)) return list_processes(options, console);
  const ProcessFilter& filter = options.processes;
  if (filter.order || filter.min_events != 0 || !filter.text.empty() || options.live) {
    return console.fail("--sort, --contains, --min-events and --live are for a manifest: give " +
                        base::quoted(options.path + ".manifest.json"));
  }
  auto tape = open_tape(options.path, schema::OnDamage::kSkip, console);
  if (!tape.ok()) return console.fail(tape.error());
  note_bigger_tape(*tape, console);
  if (options.format == Format::kText) {
    print(*tape, console.out());
  } else {
    const auto json = replayer::facts_json(*tape);
    if (!json.ok()) return console.fail(json.error());
    console.out() << *json;
  }
  if (tape->damages().empty()) return console.finish();
  return console.fail(first_damage_text(*tape) +
                      "; `heaptape verify` lists the damage, `heaptape recover` keeps the rest");
}

}  // namespace heaptape::cli
