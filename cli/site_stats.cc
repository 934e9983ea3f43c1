#include "cli/site_stats.h"

#include <ostream>

#include "base/output_file.h"
#include "cli/counted_sites.h"
#include "replayer/report/site_stats.h"

namespace heaptape::cli {

base::Status print_sites(schema::TapeReader& tape, const StatsOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(TapeStacks stacks, read_tape_stacks(tape, options.symbols, console));
  const replayer::StackValue order = options.sort.value_or(replayer::StackValue::kPeak);
  HEAPTAPE_ASSIGN_OR_RETURN(const CountedSites counted, count_sites(tape, std::move(stacks), rules,
                                                                    order, UINT64_MAX, console));
  const auto& [sites, table] = counted.ranked;
  if (!options.csv_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(options.csv_path, replayer::sites_csv(table, sites)));
  }
  if (options.format == Format::kJson) {
    HEAPTAPE_ASSIGN_OR_RETURN(const std::string text, replayer::sites_json(tape, table, sites));
    console.out() << text;
    return {};
  }
  constexpr size_t kUsualRows = 30;
  console.out() << replayer::sites_text(table, sites, order, options.top.value_or(kUsualRows))
                << replayer::stack_ends_text(counted.ends);
  return {};
}

}  // namespace heaptape::cli
