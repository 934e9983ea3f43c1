#include "tests/support/replays.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

using replayer::HoleStats;
using replayer::Peak;
using replayer::RunMetrics;
using replayer::Snapshot;

std::ostream& operator<<(std::ostream& out, const Peak& peak) {
  return out << peak.value << "@" << peak.at;
}

std::ostream& operator<<(std::ostream& out, const HoleStats& holes) {
  out << holes.count << " holes " << holes.bytes << " " << holes.largest << " " << holes.over_64_kib
      << " " << holes.over_1_mib << " " << holes.over_8_mib << " top " << holes.top_bytes << " [";
  for (const auto& bucket : holes.histogram) out << bucket.count << ":" << bucket.bytes << " ";
  return out << "]";
}

void put(std::ostream& out, const Snapshot& state, bool with_residency) {
  out << "at " << state.at << " live " << state.live.live_count << " " << state.live.live_bytes
      << " asked " << state.live.cumulative_bytes_upper << " " << state.live.cumulative_bytes_lower
      << " temporaries " << state.live.temporaries << " usable " << state.usable_bytes
      << " committed " << state.committed_bytes << " " << state.holes;
  if (with_residency) out << " resident " << state.resident_bytes << state.resident_hole_bytes;
  out << "\n";
}

std::string text_of(const RunMetrics& run, bool with_samples) {
  std::ostringstream out;
  const auto& accounting = run.accounting;
  out << "recorded " << accounting.recorded << " = " << accounting.replayed << " + "
      << accounting.failed_calls << " + " << accounting.unknown_frees << " + " << accounting.refused
      << "\nresizes " << run.resizes.in_place << " " << run.resizes.moved << " "
      << run.resizes.moved_bytes << "\npeaks " << run.live_count_peak << " " << run.live_bytes_peak
      << " " << run.usable_bytes_peak << " " << run.committed_bytes_peak << " "
      << run.live_bytes_at_committed_peak << " " << run.holes_at_committed_peak << "\nfidelity "
      << run.same_offset_share << " " << run.compared_blocks << " " << run.first_difference << "\n";
  put(out, run.end, with_samples);
  if (!with_samples) return out.str();
  out << "resident peak " << run.resident_bytes_peak << "\n";
  for (const auto& counter : run.counters) {
    if (counter.name == "pageFaults") continue;  // equal replays differ by a few: docs/metrics.md
    out << counter.name << " " << counter.value << "\n";
  }
  for (const auto& action : run.actions) {
    out << action.action << "@" << action.at << " committed " << action.before.committed_bytes
        << " " << action.after.committed_bytes << " resident " << action.before.resident_bytes
        << " " << action.after.resident_bytes << "\n";
  }
  for (const Snapshot& state : run.timeline) put(out, state, true);
  return out.str();
}

}  // namespace

replayer::ReplayOptions replay_options(const std::vector<std::string>& specs) {
  replayer::ReplayOptions options;
  for (const std::string& text : specs) {
    auto spec = allocators::parse_spec(text);
    EXPECT_TRUE(spec.ok()) << text;
    if (spec.ok()) options.specs.push_back(std::move(*spec));
  }
  return options;
}

std::vector<RunMetrics> replay_tape(const std::string& path,
                                    const replayer::ReplayOptions& options) {
  std::vector<RunMetrics> metrics;
  auto tape = schema::TapeReader::open(path);
  EXPECT_TRUE(tape.ok()) << tape.error().message;
  if (!tape.ok()) return metrics;
  auto runs = replayer::replay(*tape, options, {});
  EXPECT_TRUE(runs.ok()) << runs.error().message;
  if (!runs.ok()) return metrics;
  for (auto& run : *runs) {
    EXPECT_FALSE(run.failure) << run.failure->text;
    metrics.push_back(std::move(run.metrics));
  }
  return metrics;
}

std::vector<RunMetrics> replay_events(const std::vector<schema::Event>& events,
                                      const replayer::ReplayOptions& options,
                                      const schema::TapeHeader& header) {
  const TempDir dir;
  write_tape(dir.file("t"), events, {}, header);
  return replay_tape(dir.file("t"), options);
}

std::string lasting_text(const RunMetrics& metrics) {
  return text_of(metrics, true);
}

std::string lasting_text_without_samples(const RunMetrics& metrics) {
  return text_of(metrics, false);
}

}  // namespace heaptape::tests
