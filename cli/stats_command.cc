#include <ostream>

#include "base/number_text.h"
#include "cli/bigger_tape.h"
#include "cli/commands.h"
#include "cli/tape_reading.h"
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
}

}  // namespace

int run_stats(const StatsOptions& options, Console& console) {
  auto tape = open_tape(options.path, schema::OnDamage::kStop, console);
  if (!tape.ok()) return console.fail(tape.error());
  note_bigger_tape(*tape, console);
  TapeCounts counts;
  Progress progress(console, "counting");
  const auto status =
      replayer::count_tape(*tape, counts, [&progress](double share) { progress.show(share); });
  if (!status.ok()) return console.fail(status.error());
  if (options.format == Format::kText) {
    print(*tape, counts, console.out());
    return console.finish();
  }
  const auto json = replayer::stats_json(*tape, counts);
  if (!json.ok()) return console.fail(json.error());
  console.out() << *json;
  return console.finish();
}

}  // namespace heaptape::cli
