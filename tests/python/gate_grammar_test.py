"""One grammar of gates: `heaptape diff` and sweeps read each expression alike, and judge alike."""

import copy
import json
import subprocess

import pytest
from sweep_cells import cell, results, tape

import heaptape
from heaptape._native import AGGREGATES
from heaptape.sweep.slim import slim

MIB = 1 << 20
LATENCY = {"op": "malloc", "sizes": "", "samples": 10, "p50Ns": 100, "p99Ns": 1000, "maxNs": 5000}
BASE = {
    "version": 1,
    "tape": {"path": "t.tape", "events": 1000, "losses": {"lostEvents": 3, "lostRanges": 0}},
    "runs": [
        {
            "label": "a",
            "backend": "glibc",
            "peak": {
                "liveBytes": {"value": 10 * MIB, "at": 5},
                "residentBytes": {"value": 100 * MIB, "at": 5},
            },
            "end": {"liveBytes": 0, "liveCount": 100, "fragmentation": 0.25},
            "time": {"nsPerEvent": 80.0},
            "counters": [{"name": "mappedBytes", "value": 7}, {"name": "f(x)", "value": 2}],
            "latency": [LATENCY, {**LATENCY, "sizes": "to64", "p99Ns": 200}],
            "atMarks": [{"name": "warm", "state": {"liveBytes": 640, "residentBytes": 4096}}],
        }
    ],
}


def new_report():
    """Of peaks 5 % up, and some other changes."""
    report = copy.deepcopy(BASE)
    run = report["runs"][0]
    report["tape"]["losses"]["lostEvents"] = 5
    run["peak"]["residentBytes"]["value"] = 105 * MIB
    run["end"].update(liveBytes=1, liveCount=101, fragmentation=0.3)
    run["time"]["nsPerEvent"] = 100.0
    run["counters"][0]["value"] = str(2**64 - 1)
    run["latency"][0]["p99Ns"] = 2100
    run["atMarks"][0]["state"]["residentBytes"] = 4097
    return report


# fmt: off
GATES = [
    # Bytes
    ("peak.residentBytes>104MiB", "fail"),
    ("peak.residentBytes>105MiB", "pass"),
    ("peak.residentBytes>=105MiB", "fail"),
    ("peak.residentBytes<0.1GiB", "pass"),
    ("peak.residentBytes>110.1MB", "fail"),
    ("peak.residentBytes==110100480", "fail"),
    ("peak.residentBytes!=110100480B", "pass"),
    ("peak.residentBytes>0.5", "refused"),
    ("peak.residentBytes>+0.5", "refused"),
    ("peak.residentBytes>110100479.5B", "fail"),
    ("peak.residentBytes>5ms", "refused"),
    ("peak.residentBytes>5 mib", "refused"),
    # Changes and percentages
    ("peak.residentBytes>+5%", "pass"),
    ("peak.residentBytes>=+5%", "fail"),
    ("peak.residentBytes>+4.9999%", "fail"),
    ("peak.residentBytes > + 4 % + 1MiB", "pass"),
    ("peak.residentBytes>+4%+1048575", "fail"),
    ("peak.residentBytes>+5% -1MiB", "refused"),
    ("peak.residentBytes>+5% 1MiB", "refused"),
    ("peak.residentBytes>+5% +0.5", "refused"),
    ("peak.residentBytes>5%", "refused"),
    ("peak.residentBytes>+5%%", "refused"),
    ("peak.residentBytes>+5MiB", "pass"),
    ("peak.residentBytes>+5242879", "fail"),
    ("peak.residentBytes<-5%", "pass"),
    ("peak.liveBytes!=+0", "pass"),
    ("peak.liveBytes<=-0%", "fail"),
    ("end.liveBytes>+1000000%", "fail"),
    ("end.liveBytes>+1000000% +1B", "pass"),
    # Numbers
    ("end.liveCount>1e2", "fail"),
    ("end.liveCount>.1k", "fail"),
    ("end.liveCount>1e400", "pass"),
    ("end.liveCount<1e400", "fail"),
    ("end.liveCount>1e99999", "refused"),
    ("end.liveCount>0x10", "refused"),
    ("end.liveCount>nan", "refused"),
    ("end.liveCount>-", "refused"),
    ("end.liveCount>5 6", "refused"),
    ("end.liveCount>5MiB", "refused"),
    ("end.fragmentation>0.3", "pass"),
    ("end.fragmentation>=0.3", "fail"),
    ("end.fragmentation>+0.05", "pass"),
    ("counters.mappedBytes>18446744073709551614", "fail"),
    ("counters.mappedBytes>18446744073709551615", "pass"),
    ("counters.mappedBytes>1MiB", "fail"),
    ("counters.f(x)>+0", "pass"),
    ("counters.none>0", "fail"),
    ("counters.>0", "refused"),
    # Times, latencies, marks and losses
    ("time.nsPerEvent>99ns", "fail"),
    ("time.nsPerEvent>.1us", "pass"),
    ("time.nsPerEvent>5MiB", "refused"),
    ("latency.malloc.p99Ns>2us", "fail"),
    ("latency.malloc.p99Ns>+110%", "pass"),
    ("latency.malloc.to64.p99Ns>=0.2us", "fail"),
    ("latency.free.p99Ns>1s", "fail"),
    ("latency.malloc.p98Ns>1s", "refused"),
    ("atMark.warm.residentBytes>4KiB", "fail"),
    ("atMark.warm.liveBytes>+0", "pass"),
    ("atMark.cold.liveBytes>+0", "fail"),
    ("atMark.warm.residentByte>0", "refused"),
    ("tape.losses.lostEvents>0", "fail"),
    ("tape.losses.lostEvents>+2", "pass"),
    ("tape.losses.lostRanges>0", "pass"),
    ("tape.losses.unknown>0", "refused"),
    # Metrics, operators and blanks
    ("peak.comittedBytes>5", "refused"),
    ("committedBytes>5", "refused"),
    ("colour>5", "refused"),
    ("peak.residentBytes", "refused"),
    ("peak.residentBytes=5", "refused"),
    ("\tpeak.liveBytes  >\t10 MiB ", "pass"),
    ("peak. liveBytes>5", "refused"),
    ("", "refused"),
    ("  ", "refused"),
    (" > 5", "refused"),
    (">5", "refused"),
    ("a\x1b[31m\n>5", "refused"),
    ("peak.liveBytes\u202e>5", "refused"),
]
# fmt: on


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """A directory with both reports, and the base as a sweep of one cell."""
    folder = tmp_path_factory.mktemp("gates")
    for name, report in (("base", BASE), ("new", new_report())):
        (folder / f"{name}.json").write_text(json.dumps(report))
    results(folder / "base", swept(folder / "base.json"))
    return folder


def swept(report):
    run = slim(json.loads(report.read_text())["runs"][0], str(report))
    return [cell(tape("t"), "a", run)]


@pytest.fixture(scope="module")
def by_diff(binary, sides):
    def judge(gate):
        words = [binary, "diff", "base.json", "new.json", "--fail-if", gate]
        done = subprocess.run(words, cwd=sides, capture_output=True, text=True)
        said = done.stderr.removeprefix("heaptape: ").rstrip("\n")
        return ("pass", "fail", "refused")[done.returncode], said

    return judge


@pytest.fixture(scope="module")
def by_sweep(sides):
    def judge(gate):
        try:
            made = swept(sides / "new.json")
            (verdict,) = results(sides / "out", made, [gate], against=sides / "base").verdicts
        except heaptape.Error as error:
            return "refused", str(error)
        return {"passed": "pass", "failed": "fail"}[verdict.state], ""

    return judge


@pytest.mark.parametrize(("gate", "verdict"), GATES)
def test_diff_and_sweeps_agree(by_diff, by_sweep, gate, verdict):
    diff, sweep = by_diff(gate), by_sweep(gate)
    assert (diff[0], sweep[0]) == (verdict, verdict)
    if verdict == "refused":
        assert diff[1] == sweep[1]
        assert diff[1].startswith("cannot read the gate '")


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_aggregate_of_one_tape_is_its_figure(by_sweep, aggregate):
    for gate, verdict in GATES:
        if verdict == "refused" or (aggregate == "mean" and "551614" in gate):
            continue  # a mean is a double
        metric, op, limit = next(gate.strip().partition(op) for op in "><!=" if op in gate)
        gate_of_all = f"{aggregate}({metric}){op}{limit}"
        assert (gate_of_all, by_sweep(gate_of_all)[0]) == (gate_of_all, verdict)
