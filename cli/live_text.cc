#include "cli/live_text.h"

#include <cmath>
#include <cstdlib>

#include "base/number_text.h"

namespace heaptape::cli {
namespace {

using base::grouped;
using recorder::LiveFigures;

constexpr uint64_t kSecondNs = 1'000'000'000;

std::string seconds_text(uint64_t ns) {
  return grouped(ns / kSecondNs) + " s";
}

std::string processes_text(const LiveFigures& figures) {
  std::string text =
      grouped(figures.processes) + (figures.processes == 1 ? " process" : " processes");
  if (figures.ended_processes != 0) text += ", " + grouped(figures.ended_processes) + " ended";
  return text;
}

std::string rate_text(const LiveFigures& figures) {
  return grouped(static_cast<uint64_t>(std::llround(figures.calls_per_second)));
}

std::string live_text(const LiveFigures& figures) {
  return base::bytes_text(figures.live_bytes) + " in " +
         base::counted(figures.live_blocks, "block");
}

std::string growth_text(const LiveFigures& figures) {
  if (!figures.growth) return "none";
  const recorder::LiveGrowth& growth = *figures.growth;
  const std::string sizes = growth.to == UINT64_MAX
                                ? "over " + grouped(growth.from - 1)
                                : grouped(growth.from) + " to " + grouped(growth.to);
  return "+" + base::bytes_text(growth.bytes) + " in " + seconds_text(growth.over_ns) +
         ", in blocks of " + sizes + " bytes";
}

std::string resident_text(const LiveFigures& figures) {
  return figures.resident_bytes ? base::bytes_text(*figures.resident_bytes) : "not known";
}

std::string tape_text(const LiveFigures& figures, const char* per_call) {
  std::string text = base::bytes_text(figures.tape_bytes);
  if (figures.tape_calls == 0) return text;
  const double each =
      static_cast<double>(figures.tape_bytes) / static_cast<double>(figures.tape_calls);
  return text + ", " + base::format_text("%.2f", each) + per_call;
}

std::string stalls_text(const LiveFigures& figures) {
  if (figures.stalls == 0) return "0";
  return grouped(figures.stalls) + " (" +
         base::duration_text(static_cast<double>(figures.stall_ns)) + ")";
}

}  // namespace

std::vector<std::string> live_lines(const LiveFigures& figures) {
  return {
      "heaptape  " + seconds_text(figures.time_ns) + ", " + processes_text(figures),
      "live      " + live_text(figures),
      "growth    " + growth_text(figures),
      "resident  " + resident_text(figures),
      "calls     " + grouped(figures.calls) + ", " + rate_text(figures) + " per second",
      "tape      " + tape_text(figures, " bytes per call"),
      "stalls    " + stalls_text(figures) + ", lost " + base::counted(figures.lost, "call"),
  };
}

std::string live_line(const LiveFigures& figures) {
  return "heaptape: " + std::string(figures.is_last ? "at the end, " : "") +
         seconds_text(figures.time_ns) + ": live " + live_text(figures) + "; growth " +
         growth_text(figures) + "; resident " + resident_text(figures) + "; " +
         base::counted(figures.calls, "call") + ", " + rate_text(figures) + "/s; tape " +
         tape_text(figures, " bytes/call") + "; stalls " + stalls_text(figures) + "; lost " +
         grouped(figures.lost) + "; " + processes_text(figures);
}

}  // namespace heaptape::cli
