#include "replayer/report/film_sites.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "replayer/sites/call_stacks.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kMostNamed = 8;

// The live bytes of all cells that each block represents, over all frames.
std::unordered_map<uint64_t, double> weights_of(const std::vector<RunResult>& runs) {
  std::unordered_map<uint64_t, double> weights;  // by birth
  for (const RunResult& run : runs) {
    if (run.film == nullptr) continue;
    for (const FilmFrame& frame : run.film->frames()) {
      for (const FilmCell& cell : frame.cells) {
        if (cell.drawn_birth != 0) weights[cell.drawn_birth] += cell.live_bytes;
      }
    }
  }
  return weights;
}

// Heaviest first.
std::vector<uint32_t> ranked(const std::map<uint32_t, double>& weights) {
  std::vector<uint32_t> sites;
  for (const auto& [site, weight] : weights) sites.push_back(site);
  std::ranges::stable_sort(
      sites, [&weights](uint32_t a, uint32_t b) { return weights.at(a) > weights.at(b); });
  return sites;
}

std::set<uint64_t> births_in_closeups(const std::vector<RunResult>& runs) {
  std::set<uint64_t> births;
  for (const RunResult& run : runs) {
    for (const Closeup& closeup : run.closeups) {
      for (const CloseupPart& part : closeup.parts) {
        for (const LiveBlock& block : part.blocks) {
          if (block.birth != 0) births.insert(block.birth);
        }
      }
    }
  }
  return births;
}

uint32_t site_of(const CallStacks& calls, const Sites& sites, uint64_t birth) {
  const CallStacks::Found* const call = calls.find(birth);
  return call == nullptr ? Sites::kNone : sites.of_stack(call->stack);
}

void name_close_sites(const std::set<uint64_t>& births, const CallStacks& calls, const Sites& sites,
                      FilmSites& found) {
  std::map<uint32_t, uint32_t> numbers;  // by site
  for (const uint64_t birth : births) {
    const uint32_t site = site_of(calls, sites, birth);
    if (site == Sites::kNone) continue;
    const auto [number, is_new] = numbers.try_emplace(site, numbers.size() + 1);
    if (is_new) found.close_names.push_back(sites.short_text(site));
    found.close_by_birth[birth] = number->second;
  }
}

}  // namespace

base::Result<FilmSites> film_sites(schema::TapeReader& tape, const std::vector<RunResult>& runs,
                                   const Sites& sites) {
  FilmSites found;
  const auto weights = weights_of(runs);
  const std::set<uint64_t> close_births = births_in_closeups(runs);
  std::vector<uint64_t> births;
  for (const auto& [birth, weight] : weights) births.push_back(birth);
  std::ranges::sort(births);  // for equal sums in every run of this program
  std::vector<uint64_t> all;
  std::ranges::set_union(births, close_births, std::back_inserter(all));
  if (all.empty()) return found;
  HEAPTAPE_ASSIGN_OR_RETURN(const CallStacks calls, CallStacks::read(tape, all));
  name_close_sites(close_births, calls, sites, found);
  if (calls.is_sampled()) return found;
  std::map<uint32_t, double> by_site;
  std::unordered_map<uint64_t, uint32_t> sites_by_birth;
  for (const uint64_t birth : births) {
    const uint32_t site = site_of(calls, sites, birth);
    if (site == Sites::kNone) continue;
    sites_by_birth[birth] = site;
    by_site[site] += weights.at(birth);
  }
  const std::vector<uint32_t> order = ranked(by_site);
  for (const uint32_t site : order) {
    if (found.names.size() < kMostNamed) found.names.push_back(sites.short_text(site));
  }
  for (const auto& [birth, site] : sites_by_birth) {
    const size_t rank = static_cast<size_t>(std::ranges::find(order, site) - order.begin());
    found.by_birth[birth] =
        rank < kMostNamed ? static_cast<uint8_t>(FilmSites::kOther + 1 + rank) : FilmSites::kOther;
  }
  return found;
}

}  // namespace heaptape::replayer
