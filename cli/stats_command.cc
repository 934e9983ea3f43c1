#include <ostream>

#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/bigger_tape.h"
#include "cli/commands.h"
#include "cli/output_check.h"
#include "cli/site_stats.h"
#include "cli/tape_reading.h"
#include "replayer/report/tape_profile_rows.h"
#include "replayer/report/tape_profile_text.h"
#include "replayer/report/tape_stats.h"

namespace heaptape::cli {
namespace {

using replayer::TapeCounts;

void print(const schema::TapeReader& tape, const TapeCounts& counts, std::ostream& out) {
  const replayer::LiveMetrics& live = counts.resolver.live();
  const replayer::LiveValues& values = live.values();
  const auto put = [&](const std::string& name, const std::string& value) {
    out << base::format_text("%-26s %18s\n", name.c_str(), value.c_str());
  };
  put("events", base::grouped(tape.events()));
  for (const auto& [name, calls] : replayer::calls_by_name(counts)) {
    put("  " + name, base::grouped(calls));
  }
  put("failed calls", base::grouped(counts.resolver.skipped().failed_calls));
  put("frees of NULL", base::grouped(counts.null_frees));
  put("frees of unknown blocks", base::grouped(counts.resolver.skipped().unknown_frees));
  put("temporaries", base::grouped(values.temporaries));
  put("live blocks, peak", base::grouped(live.live_count_peak().value));
  put("  at call", "#" + base::grouped(live.live_count_peak().at));
  put("live blocks, end", base::grouped(values.live_count));
  put("live bytes, peak", base::bytes_text(live.live_bytes_peak().value));
  put("  at call", "#" + base::grouped(live.live_bytes_peak().at));
  put("live bytes, end", base::bytes_text(values.live_bytes));
  put("cumulative bytes, upper", base::bytes_text(values.cumulative_bytes_upper));
  put("cumulative bytes, lower", base::bytes_text(values.cumulative_bytes_lower));
  out << replayer::profile_text(counts);
}

base::Status print_counts(const schema::TapeReader& tape, const TapeCounts& counts,
                          const StatsOptions& options, std::ostream& out) {
  if (options.format == Format::kJson) {
    HEAPTAPE_ASSIGN_OR_RETURN(const std::string text, replayer::stats_json(tape, counts));
    out << text;
  } else if (options.table == StatsTable::kSizes) {
    out << replayer::sizes_table(counts.profile.sizes());
  } else if (options.table == StatsTable::kThreads) {
    out << replayer::threads_table(
        counts.profile.threads(),
        tape.summary() ? tape.summary()->thread_list : std::vector<schema::ThreadIdentity>());
  } else {
    print(tape, counts, out);
  }
  return {};
}

base::Status check_words(const StatsOptions& options) {
  const bool is_one_table =
      options.table == StatsTable::kSizes || options.table == StatsTable::kThreads;
  if (is_one_table && options.format == Format::kJson) {
    return base::Error::usage("--json has all sizes and threads: leave out --by");
  }
  const bool has_site_option =
      options.sort || options.top || !options.filters.hide.empty() || !options.filters.only.empty();
  if (has_site_option && options.table != StatsTable::kSites) {
    return base::Error::usage("--sort, --top, --hide and --only are for sites: add --by site");
  }
  return {};
}

base::Status check_csv(const StatsOptions& options) {
  if (!options.csv_path.empty() && base::same_file(options.csv_path, options.path)) {
    return base::Error::usage("'" + options.csv_path + "' is the tape: write to another file");
  }
  return check_writable(options.csv_path);
}

base::Status count_and_print(const StatsOptions& options, Console& console) {
  HEAPTAPE_RETURN_IF_ERROR(check_words(options));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_tape(options.path, schema::OnDamage::kStop, console));
  HEAPTAPE_RETURN_IF_ERROR(check_csv(options));
  note_bigger_tape(tape, console);
  if (options.table == StatsTable::kSites) return print_sites(tape, options, console);
  TapeCounts counts(tape.events());
  Progress progress(console, "counting");
  HEAPTAPE_RETURN_IF_ERROR(
      replayer::count_tape(tape, counts, [&progress](double share) { progress.show(share); }));
  if (!options.csv_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(options.csv_path, replayer::profile_csv(counts)));
  }
  return print_counts(tape, counts, options, console.out());
}

}  // namespace

int run_stats(const StatsOptions& options, Console& console) {
  const base::Status status = count_and_print(options, console);
  return status.ok() ? console.finish() : console.fail(status.error());
}

}  // namespace heaptape::cli
