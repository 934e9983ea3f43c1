#include "cli/counted_sites.h"

#include "replayer/report/tape_stats.h"

namespace heaptape::cli {

base::Result<CountedSites> count_sites(schema::TapeReader& tape, TapeStacks stacks,
                                       const replayer::SiteRules& rules, replayer::StackValue order,
                                       uint64_t from, uint64_t until, Console& console) {
  auto kept = std::make_unique<const TapeStacks>(std::move(stacks));
  replayer::Sites sites(kept->stacks, kept->symbols, rules);
  replayer::StackProfile profile(kept->stacks.limit(), sites.by_stack(),
                                 replayer::SampleWeight(tape.header().stacks));
  Progress progress(console, "counting");
  HEAPTAPE_RETURN_IF_ERROR(replayer::count_stacks(
      tape, profile, [&progress](double share) { progress.show(share); }, from, until));
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  replayer::SiteTable table = replayer::site_table(profile, sites, order);
  if (replayer::shows_none(table)) return no_site_shown(tape);
  const replayer::StackEnds ends = replayer::count_stack_ends(kept->stacks, profile);
  return CountedSites{
      std::move(kept), {std::move(sites), std::move(table)}, ends, profile.by_stack()};
}

}  // namespace heaptape::cli
