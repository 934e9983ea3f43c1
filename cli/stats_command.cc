#include <memory>
#include <ostream>
#include <utility>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/allocator_words.h"
#include "cli/bigger_tape.h"
#include "cli/commands.h"
#include "cli/counted_sites.h"
#include "cli/explained_heap.h"
#include "cli/output_check.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "replayer/report/site_stats.h"
#include "replayer/report/tape_profile_text.h"
#include "replayer/report/tape_stats.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using base::Result;
using replayer::NamedCallers;
using replayer::TapeCounts;

// At the tape's peak by default.
Result<replayer::ExplainOptions> question_of(const StatsOptions& options) {
  replayer::ExplainOptions question;
  HEAPTAPE_ASSIGN_OR_RETURN(const auto specs, parse_specs({options.spec.value_or("recorded")}));
  question.spec = specs.front();
  question.at = {.kind = replayer::MomentRequest::Kind::kEvent, .name = "peak"};
  if (options.at) {
    HEAPTAPE_ASSIGN_OR_RETURN(question.at, replayer::parse_moment(*options.at));
  }
  question.heap_growths = 0;
  return question;
}

// Nothing if the allocator failed: the console has reported it.
Result<std::optional<replayer::HeapOfSites>> heap_of(schema::TapeReader& tape,
                                                     const replayer::ExplainOptions& question,
                                                     const replayer::Sites& sites,
                                                     Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto explained, find_explained(tape, question, console));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto heap,
                            explain_heap(tape, question, explained, &sites, console));
  if (!heap) return std::optional<replayer::HeapOfSites>();
  return std::optional(replayer::heap_of_sites(tape.header(), heap->explanation, *heap->calls));
}

base::Status print(const schema::TapeReader& tape, const StatsOptions& options,
                   const replayer::SiteAnswer& answer, const replayer::StackEnds& ends,
                   Console& console) {
  if (!options.csv_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(options.csv_path, replayer::sites_csv(answer)));
  }
  if (options.format == Format::kJson) {
    HEAPTAPE_ASSIGN_OR_RETURN(const std::string text, replayer::sites_json(tape, answer));
    console.out() << text;
    return {};
  }
  constexpr size_t kUsualRows = 30;
  const replayer::SiteOrder order = options.sort.value_or(replayer::StackValue::kPeak);
  console.out() << replayer::sites_text(answer, order, options.top.value_or(kUsualRows),
                                        console.table_width())
                << replayer::stack_ends_text(ends);
  return {};
}

// `heaptape stats --by site`. `tape` must be at its beginning. Returns the exit code.
Result<int> print_sites(schema::TapeReader& tape, const StatsOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(replayer::ExplainOptions question, question_of(options));
  HEAPTAPE_ASSIGN_OR_RETURN(TapeStacks stacks, read_tape_stacks(tape, options.symbols, console));
  const replayer::SiteOrder order = options.sort.value_or(replayer::StackValue::kPeak);
  const auto* const by_stacks = std::get_if<replayer::StackValue>(&order);
  const auto* const by_heap = std::get_if<replayer::HeapValue>(&order);
  HEAPTAPE_ASSIGN_OR_RETURN(
      CountedSites counted,
      count_sites(tape, std::move(stacks), rules,
                  by_stacks == nullptr ? replayer::StackValue::kPeak : *by_stacks, 1, UINT64_MAX,
                  console));
  const replayer::Sites& sites = counted.ranked.sites;
  replayer::SiteTable& table = counted.ranked.table;
  if (!options.at) question.at.event = table.peak_at;
  const bool asks_for_heap = options.spec || options.at || by_heap != nullptr;
  auto found = heap_of(tape, question, sites, console);
  if (!found.ok()) {
    if (asks_for_heap) return found.error();
    console.print_note("the table lacks pinned bytes and slack: " + found.error().message);
  }
  const auto heap = found.ok() ? std::move(*found) : std::nullopt;
  if (!heap && asks_for_heap) return kExitFailed;
  if (by_heap != nullptr) replayer::rank_by_heap(table, *heap, *by_heap);
  HEAPTAPE_RETURN_IF_ERROR(
      print(tape, options, {table, sites, heap ? &*heap : nullptr}, counted.ends, console));
  return kExitDone;
}

void print(const schema::TapeReader& tape, const TapeCounts& counts, const NamedCallers* callers,
           std::ostream& out) {
  const replayer::LiveMetrics& live = counts.resolver.live();
  const replayer::LiveValues& values = live.values();
  const auto put = [&](const std::string& name, const std::string& value) {
    out << base::format_text("%-26s %18s\n", name.c_str(), value.c_str());
  };
  put("events", base::grouped(tape.events()));
  for (const auto& [name, calls] : replayer::calls_by_name(counts)) {
    put("  " + name, base::grouped(calls));
  }
  for (const auto& [name, calls] : replayer::calls_beside_malloc(counts)) {
    put("beside: " + name, base::grouped(calls));
  }
  put("failed calls", base::grouped(counts.resolver.skipped().failed_calls));
  put("frees of NULL", base::grouped(counts.null_frees));
  const replayer::SkippedCounts& skipped = counts.resolver.skipped();
  if (tape.late_ns() != 0) {
    put("frees of earlier blocks", base::grouped(skipped.unknown_frees));
    put("resizes of earlier blocks", base::grouped(skipped.unknown_resizes));
  } else {
    put("frees of unknown blocks", base::grouped(skipped.unknown_frees));
  }
  put("temporaries", base::grouped(values.temporaries));
  put("live blocks, peak", base::grouped(live.live_count_peak().value));
  put("  at call", "#" + base::grouped(live.live_count_peak().at));
  put("live blocks, end", base::grouped(values.live_count));
  put("live bytes, peak", base::bytes_text(live.live_bytes_peak().value));
  put("  at call", "#" + base::grouped(live.live_bytes_peak().at));
  put("live bytes, end", base::bytes_text(values.live_bytes));
  put("bytes requested", base::bytes_text(values.cumulative_bytes_upper));
  put("  less resized blocks", base::bytes_text(values.cumulative_bytes_lower));
  out << replayer::profile_text(counts, callers == nullptr ? nullptr : &callers->births,
                                tape.header().origin);
  if (tape.summary() && !tape.summary()->inner_allocators.empty()) {
    out << "\nnot seen: " << schema::inner_calls_text(tape.summary()->inner_allocators) << "\n";
  }
  if (callers == nullptr) return;
  const std::string top = replayer::top_sites_text(callers->table, callers->births.sites());
  if (!top.empty()) out << "\n" << top << "--by site lists all sites\n";
}

base::Status print_counts(const schema::TapeReader& tape, const TapeCounts& counts,
                          const NamedCallers* callers, const StatsOptions& options,
                          std::ostream& out) {
  if (options.format == Format::kJson) {
    HEAPTAPE_ASSIGN_OR_RETURN(const std::string text, replayer::stats_json(tape, counts, callers));
    out << text;
  } else if (options.table == StatsTable::kSizes) {
    out << replayer::sizes_table(counts.profile.sizes());
  } else if (options.table == StatsTable::kThreads) {
    out << replayer::threads_table(
        counts.profile.threads(),
        tape.summary() ? tape.summary()->thread_list : std::vector<schema::ThreadIdentity>());
  } else {
    print(tape, counts, callers, out);
  }
  return {};
}

base::Status check_words(const StatsOptions& options) {
  const bool is_one_table =
      options.table == StatsTable::kSizes || options.table == StatsTable::kThreads;
  if (is_one_table && options.format == Format::kJson) {
    return base::Error::usage("--json lists all sizes and threads: omit --by");
  }
  if ((options.sort || options.top || options.spec || options.at) &&
      options.table != StatsTable::kSites) {
    return base::Error::usage("--sort, --top, -a and --at apply to sites: add --by site");
  }
  const bool has_filter = !options.filters.hide.empty() || !options.filters.only.empty();
  if (has_filter && is_one_table) {
    return base::Error::usage("--hide and --only apply to sites: omit --by, or use --by site");
  }
  return {};
}

base::Status check_csv(const StatsOptions& options) {
  if (!options.csv_path.empty() && base::same_file(options.csv_path, options.path)) {
    return base::Error::usage("'" + options.csv_path + "' is the tape: write to another file");
  }
  return check_writable(options.csv_path);
}

// Stacks of the whole tape.
struct StackCounts {
  StackCounts(TapeStacks of_tape, const replayer::SiteRules& rules, replayer::SampleWeight weight)
      : stacks(std::move(of_tape)),
        sites(stacks.stacks, stacks.symbols, rules),
        profile(stacks.stacks.limit(), sites.by_stack(), std::move(weight)) {}

  const TapeStacks stacks;
  const replayer::Sites sites;
  replayer::StackProfile profile;
};

// Null if not wanted, or if the tape has no stacks.
Result<std::unique_ptr<StackCounts>> stack_counts(schema::TapeReader& tape,
                                                  const StatsOptions& options, Console& console) {
  if (options.table != StatsTable::kAll) return std::unique_ptr<StackCounts>();
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(auto stacks,
                            read_stacks_if_any(tape, options.filters, options.symbols, console));
  const replayer::SampleWeight weight(tape.header().stacks);
  return stacks ? std::make_unique<StackCounts>(std::move(*stacks), rules, weight) : nullptr;
}

base::Status print_with_sites(schema::TapeReader& tape, const TapeCounts& counts,
                              const StackCounts& stacks, const StatsOptions& options,
                              std::ostream& out) {
  const replayer::SiteTable table =
      replayer::site_table(stacks.profile, stacks.sites, replayer::StackValue::kPeak);
  if (shows_none(table)) return no_site_shown(tape);
  HEAPTAPE_ASSIGN_OR_RETURN(
      const auto births,
      replayer::CallSites::read(tape, stacks.sites, replayer::named_births(counts)));
  const NamedCallers callers{table, births};
  return print_counts(tape, counts, &callers, options, out);
}

base::Status count_and_print(schema::TapeReader& tape, const StatsOptions& options,
                             Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto stacks, stack_counts(tape, options, console));
  TapeCounts counts(tape.events());
  Progress progress(console, "counting");
  HEAPTAPE_RETURN_IF_ERROR(replayer::count_tape(
      tape, counts, [&progress](double share) { progress.show(share); },
      stacks == nullptr ? nullptr : &stacks->profile));
  if (!options.csv_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(options.csv_path, replayer::profile_csv(counts)));
  }
  if (stacks != nullptr) return print_with_sites(tape, counts, *stacks, options, console.out());
  return print_counts(tape, counts, nullptr, options, console.out());
}

// Returns the exit code.
Result<int> show_stats(const StatsOptions& options, Console& console) {
  HEAPTAPE_RETURN_IF_ERROR(check_words(options));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_tape(options.path, schema::OnDamage::kStop, console));
  HEAPTAPE_RETURN_IF_ERROR(check_csv(options));
  note_bigger_tape(tape, console);
  const schema::TapeOrigin& origin = tape.header().origin;
  if (options.table == StatsTable::kThreads && origin.lacks(schema::Absent::kThreads)) {
    return base::Error::usage("threads are not in this trace, which was imported from '" +
                              base::display_text(origin.format) + "': omit --by thread");
  }
  if (options.table == StatsTable::kSites) return print_sites(tape, options, console);
  HEAPTAPE_RETURN_IF_ERROR(count_and_print(tape, options, console));
  return kExitDone;
}

}  // namespace

int run_stats(const StatsOptions& options, Console& console) {
  const Result<int> exit_code = show_stats(options, console);
  return exit_code.ok() ? console.finish(*exit_code) : console.fail(exit_code.error());
}

}  // namespace heaptape::cli
