#include "tests/support/reports.h"

#include <capnp/message.h>

#include "schema/report/report_json.h"

namespace heaptape::tests {
namespace {

namespace wire = schema::wire;

void fill(wire::TapeInfo::Builder tape) {
  tape.setPath("server.tape");
  tape.setEvents(7300000);
  tape.setAllocations(3700000);
  tape.setFrees(3500000);
  tape.setReallocations(100000);
  tape.setThreads(4);
  tape.setBytesPerEvent(1.625);
  tape.initLosses();
  tape.setCommand("./server --flags");
}

void fill(wire::Holes::Builder holes, uint64_t count) {
  holes.setCount(count);
  holes.setBytes(count * 2048);
  holes.setLargest(1310720);
  holes.setOver64KiB(12);
  holes.setOver1MiB(1);
  holes.setTopBytes(132096);

  auto buckets = holes.initHistogram(2);
  for (unsigned i = 0; i < buckets.size(); ++i) {
    buckets[i].setLog2Size(5 + i);
    buckets[i].setCount(count / 2);
    buckets[i].setBytes(count * 1024);
  }
}

void fill(wire::PeakValue::Builder peak, uint64_t value, uint64_t at) {
  peak.setValue(value);
  peak.setAt(at);
}

void fill(wire::State::Builder end) {
  end.setLiveCount(200000);
  end.setLiveBytes(52428800);
  end.setUsableBytes(54525952);
  end.setSlackBytes(2097152);
  end.setCommittedBytes(83886080);
  end.setResidentBytes(80740352);
  end.setCumulativeBytesUpper(18446744073709551615u);  // no double can hold it
  end.setCumulativeBytesLower(9007199254740993);       // nor this: 2^53 + 1
  end.setFragmentation(0.375);
  end.setTemporaries(410000);
  end.setResidentHoleBytes(9216000);
  fill(end.initHoles(), 9000);
  end.setAt(7300000);
  end.setTimeNs(12500000000);
  auto account = end.initAccount();
  account.setMetadataBytes(3145728);
  account.setCachedBytes(1048576);
  account.setHoleBytes(9216000);
  account.setTopBytes(12000000);
  account.setReturnedBytes(3145728);
  account.setUnexplainedBytes(-16);
  account.setPurgeableBytes(8192000);
}

void fill(wire::Peak::Builder peak) {
  fill(peak.initLiveCount(), 250000, 6000000);
  fill(peak.initLiveBytes(), 73400320, 6000000);
  fill(peak.initUsableBytes(), 75497472, 6000000);
  fill(peak.initCommittedBytes(), 104857600, 6100000);
  fill(peak.initResidentBytes(), 101711872, 6100000);
  peak.setDistanceToIdeal(1.4285);
  peak.setFragmentation(0.3);
  fill(peak.initHoles(), 12000);
}

void fill(wire::Timeline::Builder timeline) {
  auto at = timeline.initAt(3);
  auto live_bytes = timeline.initLiveBytes(3);
  auto committed_bytes = timeline.initCommittedBytes(3);
  for (unsigned i = 0; i < 3; ++i) {
    at.set(i, i * 3650000);
    live_bytes.set(i, i * 26214400);
    committed_bytes.set(i, i * 41943040);
  }
}

void fill(wire::Run::Builder run, const char* label, const char* backend) {
  run.setLabel(label);
  run.setBackend(backend);
  run.setThreads("ordered");
  run.setTouch("page");
  run.initAccounting().setRecorded(7300000);
  run.getAccounting().setReplayed(7300000);
  fill(run.initEnd());
  fill(run.initAtPeak());
  fill(run.initAtPlateau());
  fill(run.initAtExit());
  fill(run.initPeak());
  run.initFidelity().setSameOffsetShare(0.999);
  run.getFidelity().setComparedBlocks(3700000);
  run.getFidelity().setFirstDifference(123457);
  run.initResizes().setInPlace(60000);
  run.getResizes().setMoved(40000);
  run.getResizes().setMovedBytes(81920000);
  run.initTime().setReplayNs(593000000);
  run.getTime().setNsPerEvent(81.25);
  fill(run.initTimeline());
  run.initGrowth().setWorstExponent(1.02);
  auto curve = run.getGrowth().initCurves(1)[0];
  curve.setOperation("free");
  curve.setGrows(true);
  curve.setVerdict("free: cost grows");
  run.initLatency(2)[1].setOp("malloc");
  run.getLatency()[1].setSizes("to64");
  run.getLatency()[1].setMaxAt(1234);
  auto latency = run.getLatency()[0];
  latency.setOp("malloc");
  latency.setSamples(3700000);
  latency.setP50Ns(21);
  latency.setMaxNs(90000);
}

}  // namespace

std::string sample_report_json() {
  capnp::MallocMessageBuilder message;
  auto report = message.initRoot<wire::Report>();
  report.setVersion(wire::REPORT_VERSION);
  fill(report.initTape());
  auto runs = report.initRuns(2);
  fill(runs[0], "glibc", "glibc");
  fill(runs[1], "buddy", "model:buddy");
  auto counter = runs[1].initCounters(1)[0];
  counter.setName("nodesVisited");
  counter.setValue(18446744073709551615u);
  return *schema::to_json(report.asReader());
}

schema::RunFigures run_figures(const std::string& label,
                               std::initializer_list<NamedMetric> metrics) {
  schema::RunFigures run;
  run.label = label;
  run.backend = label;
  run.threads = "ordered";
  run.touch = "page";
  for (const auto& [name, value] : metrics) run.metrics.push_back({name, value});
  return run;
}

replayer::NamedReport named_report(const std::string& path,
                                   std::initializer_list<schema::RunFigures> runs,
                                   uint64_t events) {
  return {path, {"server.tape", events, runs}};
}

}  // namespace heaptape::tests
