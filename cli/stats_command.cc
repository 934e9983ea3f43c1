#include <cstdio>
#include <ostream>

#include "base/number_text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "replayer/report/tape_stats.h"

namespace heaptape::cli {
namespace {

using replayer::TapeCounts;

void print(const schema::TapeReader& tape, const TapeCounts& counts, std::ostream& out) {
  const replayer::LiveMetrics& live = counts.resolver.live();
  const replayer::LiveValues& values = live.values();
  char line[128];
  const auto put = [&](const char* name, const std::string& value) {
    snprintf(line, sizeof line, "%-26s %18s\n", name, value.c_str());
    out << line;
  };
  put("events", base::grouped(tape.events()));
  for (int stored = 0; stored < schema::kOpLimit; ++stored) {
    const uint64_t calls = counts.calls[static_cast<size_t>(stored)];
    if (calls == 0) continue;
    const std::string name = schema::op_info(static_cast<schema::Op>(stored)).name;
    put(("  " + name).c_str(), base::grouped(calls));
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

int run_stats(const std::string& path, bool json, std::ostream& out, std::ostream& err) {
  auto tape = schema::TapeReader::open(path);
  if (!tape.ok()) return complain(err, tape.error());
  TapeCounts counts;
  Progress progress("counting");
  const auto status =
      replayer::count_tape(*tape, counts, [&progress](double share) { progress.show(share); });
  if (!status.ok()) return complain(err, status.error());
  if (json) {
    const auto text = replayer::stats_json(*tape, counts);
    if (!text.ok()) return complain(err, text.error());
    out << *text << "\n";
  } else {
    print(*tape, counts, out);
  }
  return finish(out, err, kExitDone);
}

}  // namespace heaptape::cli
