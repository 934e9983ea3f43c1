#include <unistd.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "base/number_text.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "recorder/collector/control_client.h"

namespace heaptape::cli {
namespace {

using recorder::ControlOrder;
using recorder::ControlVerb;

constexpr int kPatienceMs = 10'000;
// To stop, a recorder puts all its backlog onto the tapes; to flush, it may write all that it kept.
constexpr int kPatienceForTapesMs = 600'000;

std::optional<ControlVerb> verb_of(const std::string& word) {
  if (word == "mark") return ControlVerb::kMark;
  if (word == "status") return ControlVerb::kStatus;
  if (word == "flush") return ControlVerb::kFlush;
  if (word == "stop") return ControlVerb::kStop;
  if (word == "start") return ControlVerb::kStart;
  return std::nullopt;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// A sentence about what is wrong; empty if nothing is.
std::string misuse(const CtlOptions& options) {
  const auto verb = verb_of(options.verb);
  if (!verb) {
    return "ctl has no action '" + options.verb +
           "': type `heaptape ctl PID mark NAME`, or start, status, flush or stop, the pid first";
  }
  if (*verb == ControlVerb::kMark && options.name.empty()) {
    return "a mark has a name: type `heaptape ctl " + options.target + " mark NAME`";
  }
  if (*verb != ControlVerb::kMark && !options.name.empty()) {
    return "omit '" + options.name + "': " + options.verb + " takes nothing behind it";
  }
  if (*verb == ControlVerb::kMark && !is_number(options.target)) {
    return "'" + options.target +
           "' is no pid: a mark is for one process; type `heaptape ctl PID mark " + options.name +
           "`";
  }
  return "";
}

std::string state_text(const recorder::RecordingTotals& totals) {
  if (totals.state == recorder::RecordingState::kAwaitsStart) {
    return "waits for its start; not recorded";
  }
  const std::string interval =
      totals.interval == 1 ? "" : ", interval " + std::to_string(totals.interval);
  return (totals.state == recorder::RecordingState::kStopped ? "stopped" : "recording") + interval;
}

std::string totals_text(const recorder::RecordingTotals& totals) {
  const uint64_t processes = totals.processes + totals.ended_processes;
  std::string text = base::counted(totals.calls, "call") + " of " + base::grouped(processes) +
                     (processes == 1 ? " process" : " processes") + " in " +
                     base::duration_text(static_cast<double>(totals.time_ns)) + "; " +
                     base::bytes_text(totals.tape_bytes) + " of tape written";
  if (totals.backlog_bytes != 0) {
    text += ", " + base::bytes_text(totals.backlog_bytes) + " of calls wait to be written";
  }
  return text + (totals.lost == 0 ? "" : "; lost: " + base::grouped(totals.lost));
}

}  // namespace

int run_ctl(const CtlOptions& options, Console& console) {
  if (const std::string text = misuse(options); !text.empty()) return console.fail(text);
  ControlOrder order{.verb = *verb_of(options.verb), .name = options.name};
  if (is_number(options.target)) {
    const auto pid = base::parse_count(options.target);
    if (!pid || *pid == 0 || *pid > INT32_MAX) {
      return console.fail("'" + options.target +
                          "' is no pid: type the number of a recorded process, or its tape");
    }
    order.pid = static_cast<uint32_t>(*pid);
  } else {
    order.tape = options.target;
  }
  if (order.pid == static_cast<uint32_t>(getpid())) {
    return console.fail(
        "process " + options.target +
        " is this `heaptape ctl`: the shell replaced itself with its last command. Add another "
        "command after it: `heaptape ctl ... ; :`");
  }
  const bool stops = order.verb == ControlVerb::kStop;
  const bool writes = stops || order.verb == ControlVerb::kFlush;
  const auto reply = recorder::request_control(order, writes ? kPatienceForTapesMs : kPatienceMs);
  if (!reply.ok()) return console.fail(reply.error());
  if (order.verb == ControlVerb::kMark) {
    console.out() << "mark " << options.name << " after call #" << base::grouped(reply->event)
                  << base::format_text(", %.3f s", static_cast<double>(reply->time_ns) / 1e9)
                  << "\n";
  } else {
    recorder::RecordingTotals totals = reply->totals;
    if (stops) totals.state = recorder::RecordingState::kStopped;
    console.out() << (order.verb == ControlVerb::kFlush ? "flushed" : state_text(totals)) << ": "
                  << totals_text(totals);
    if (order.verb == ControlVerb::kFlush && reply->event != 0) {
      console.out() << "; the last calls are in *.flush-" << reply->event << ".tape";
    }
    if (order.verb == ControlVerb::kStart && reply->event != 0) {
      console.out() << "; the tapes of this interval are *.interval-" << reply->event << "*.tape";
    }
    console.out() << "\n";
  }
  return console.finish();
}

}  // namespace heaptape::cli
