// `heaptape stats`: counts of a tape, without any allocator.
#include <capnp/compat/json.h>
#include <capnp/message.h>

#include <array>
#include <cstdio>
#include <ostream>

#include "replayer/commands/command_io.h"
#include "replayer/commands/tape_commands.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/report/number_text.h"
#include "schema/display_text.h"
#include "schema/kj_guard.h"
#include "schema/report.capnp.h"
#include "schema/tape_reader.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

constexpr size_t kBatchEvents = 1 << 14;

struct TapeCounts {
  std::array<uint64_t, schema::kOpLimit> calls{};
  uint64_t null_frees = 0;
  SlotResolver resolver;
};

schema::Status count(schema::TapeReader& tape, TapeCounts& counts) {
  Progress progress("counting");
  schema::EventBatch batch;
  ResolvedBatch resolved;
  for (uint64_t done = 0;; done += batch.events.size()) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    if (batch.events.empty()) return {};
    for (const schema::Event& event : batch.events) {
      ++counts.calls[static_cast<uint8_t>(event.op)];
      const bool releases = schema::op_info(event.op).kind == schema::OpKind::kRelease;
      if (releases && event.freed_address == 0) ++counts.null_frees;
    }
    HEAPTAPE_RETURN_IF_ERROR(counts.resolver.resolve(batch.events, done, resolved));
    progress.show(static_cast<double>(done) / static_cast<double>(tape.events()));
  }
}

void print(const schema::TapeReader& tape, const TapeCounts& counts, std::ostream& out) {
  const LiveMetrics& live = counts.resolver.live();
  const LiveValues& values = live.values();
  char line[128];
  const auto put = [&](const char* name, const std::string& value) {
    snprintf(line, sizeof line, "%-26s %18s\n", name, value.c_str());
    out << line;
  };
  put("events", grouped(tape.events()));
  for (int stored = 0; stored < schema::kOpLimit; ++stored) {
    const uint64_t calls = counts.calls[static_cast<size_t>(stored)];
    if (calls == 0) continue;
    const std::string name = schema::op_info(static_cast<schema::Op>(stored)).name;
    put(("  " + name).c_str(), grouped(calls));
  }
  put("failed calls", grouped(counts.resolver.skipped().failed_calls));
  put("frees of NULL", grouped(counts.null_frees));
  put("frees of unknown blocks", grouped(counts.resolver.skipped().unknown_frees));
  put("temporaries", grouped(values.temporaries));
  put("live blocks, peak", grouped(live.live_count_peak().value));
  put("  at call", "#" + grouped(live.live_count_peak().at));
  put("live blocks, end", grouped(values.live_count));
  put("live bytes, peak", bytes_text(live.live_bytes_peak().value));
  put("  at call", "#" + grouped(live.live_bytes_peak().at));
  put("live bytes, end", bytes_text(values.live_bytes));
  put("cumulative bytes, upper", bytes_text(values.cumulative_bytes_upper));
  put("cumulative bytes, lower", bytes_text(values.cumulative_bytes_lower));
}

void set_peak(wire::PeakValue::Builder out, const Peak& peak) {
  out.setValue(peak.value);
  out.setAt(peak.at);
}

std::string to_json(const schema::TapeReader& tape, const TapeCounts& counts) {
  capnp::MallocMessageBuilder message;
  auto stats = message.initRoot<wire::TapeStats>();
  const LiveMetrics& live = counts.resolver.live();
  stats.setVersion(wire::REPORT_VERSION);
  stats.setPath(schema::display_text(tape.path()));
  stats.setEvents(tape.events());
  stats.setThreads(tape.summary() ? tape.summary()->threads : 0);
  stats.setDurationNs(tape.summary() ? tape.summary()->duration_ns : 0);
  unsigned kinds = 0;
  for (const uint64_t calls : counts.calls) kinds += calls != 0;
  auto list = stats.initCalls(kinds);
  unsigned next = 0;
  for (int stored = 0; stored < schema::kOpLimit; ++stored) {
    const uint64_t calls = counts.calls[static_cast<size_t>(stored)];
    if (calls == 0) continue;
    list[next].setOp(schema::op_info(static_cast<schema::Op>(stored)).name);
    list[next++].setCount(calls);
  }
  stats.setFailedCalls(counts.resolver.skipped().failed_calls);
  stats.setNullFrees(counts.null_frees);
  stats.setUnknownFrees(counts.resolver.skipped().unknown_frees);
  stats.setTemporaries(live.values().temporaries);
  stats.setLiveCount(live.values().live_count);
  stats.setLiveBytes(live.values().live_bytes);
  set_peak(stats.initPeakLiveCount(), live.live_count_peak());
  set_peak(stats.initPeakLiveBytes(), live.live_bytes_peak());
  stats.setCumulativeBytesUpper(live.values().cumulative_bytes_upper);
  stats.setCumulativeBytesLower(live.values().cumulative_bytes_lower);
  capnp::JsonCodec codec;
  codec.setPrettyPrint(true);
  return codec.encode(stats.asReader()).cStr();
}

}  // namespace

int run_stats(const std::string& path, bool json, std::ostream& out, std::ostream& err) {
  auto tape = schema::TapeReader::open(path);
  if (!tape.ok()) return complain(err, tape.error());
  TapeCounts counts;
  if (const auto status = count(*tape, counts); !status.ok()) return complain(err, status.error());
  if (json) {
    out << to_json(*tape, counts) << "\n";
  } else {
    print(*tape, counts, out);
  }
  return finish(out, err, kExitDone);
}

}  // namespace heaptape::replayer
