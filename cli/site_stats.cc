#include "cli/site_stats.h"

#include <ostream>
#include <utility>

#include "base/output_file.h"
#include "cli/allocator_words.h"
#include "cli/counted_sites.h"
#include "cli/explained_heap.h"

namespace heaptape::cli {
namespace {

using base::Result;

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
  HEAPTAPE_ASSIGN_OR_RETURN(const auto heap, explain_heap(tape, question, &sites, console));
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

}  // namespace

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
                  by_stacks == nullptr ? replayer::StackValue::kPeak : *by_stacks, UINT64_MAX,
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

}  // namespace heaptape::cli
