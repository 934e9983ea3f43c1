"""heaptape.Report against the report that it was made of, and against the timeline as CSV."""

import csv
import json

import pyarrow
import pytest
from conftest import QUESTIONS, ROOT, rows

import heaptape


@pytest.fixture(scope="session")
def report_folder(tool, tmp_path_factory):
    """A replay of a program with threads: report.json and timeline.csv."""
    folder = tmp_path_factory.mktemp("report")
    allocators = ["-a", "recorded", "-a", "glibc", "-a", "slabs=model:slabs"]
    files = ["-o", folder / "report.json", "--csv", folder / "timeline.csv"]
    tool("replay", QUESTIONS / "threads.tape", *allocators, *files)
    return folder


@pytest.fixture
def report(report_folder):
    return heaptape.Report(report_folder / "report.json")


def metric_names():
    lines = (ROOT / "tests/golden/metrics.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip()]


def test_runs_have_a_column_for_each_metric(report):
    assert set(metric_names()) <= set(pyarrow.schema(report.runs()).names)


def value_of(run, name):
    for part in name.split("."):
        run = run.get(part) if isinstance(run, dict) else None
    return run.get("value") if isinstance(run, dict) else run


def test_runs_have_the_values_of_the_report(report):
    for run, row in zip(report.json["runs"], rows(report.runs()), strict=True):
        names = [name for name in metric_names() if not name.startswith("tape.")]
        lacking = ("returnedBytes", "untouchedBytes") if run["label"] == "recorded" else ()
        expected = {
            name: None if name.endswith(lacking) else value_of(run, name) for name in names
        }
        assert {name: row[name] for name in names} == expected


def test_runs_say_what_was_replayed(report):
    row = rows(report.runs())[1]
    assert (row["run"], row["backend"], row["tape.events"]) == ("glibc", "glibc", 17265)
    assert row["tape.losses.lostEvents"] == 0 and row["failure.text"] is None


def test_peaks_have_their_calls(report):
    peak = report.json["runs"][1]["peak"]["committedBytes"]
    row = rows(report.runs())[1]
    assert (row["peak.committedBytes"], row["peak.committedBytes.at"]) == (
        peak["value"],
        peak["at"],
    )


def test_timelines_are_those_of_the_csv(report, report_folder):
    with open(report_folder / "timeline.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    timelines = rows(report.timelines())
    assert list(timelines[0]) == list(lines[0])
    shown = [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in timelines
    ]
    assert shown == lines


def test_holes_are_those_of_each_moment(report):
    for run in report.json["runs"]:
        for moment in ("peak", "end", "atPeak"):
            buckets = [
                {key: row[key] for key in ("log2Size", "count", "bytes")}
                for row in rows(report.holes())
                if (row["run"], row["moment"]) == (run["label"], moment)
            ]
            assert buckets == run[moment]["holes"]["histogram"]


def test_holes_add_up_to_the_metric(report):
    glibc = rows(report.runs())[1]
    ends = [row for row in rows(report.holes()) if (row["run"], row["moment"]) == ("glibc", "end")]
    assert sum(row["bytes"] for row in ends) == glibc["end.holes.bytes"] > 0


def items_of(report, name):
    return [
        {**item, "run": run["label"]} for run in report.json["runs"] for item in run.get(name, [])
    ]


def test_latencies_are_those_of_the_report(report):
    latencies = rows(report.latencies())
    assert latencies == items_of(report, "latency") and latencies


def test_counters_are_those_of_the_report(report):
    counters = rows(report.counters())
    assert counters == items_of(report, "counters") and counters


def test_columns_do_not_depend_on_the_report(report, tmp_path):
    (tmp_path / "empty.json").write_text('{"version": 1, "runs": []}')
    empty = heaptape.Report(tmp_path / "empty.json")
    for name in ("runs", "timelines", "holes", "latencies", "counters"):
        assert pyarrow.schema(getattr(empty, name)()) == pyarrow.schema(getattr(report, name)())


def test_large_integers_stay_exact(tmp_path):
    counter = {"name": "visited", "value": str(2**64 - 1)}
    text = json.dumps({"version": 1, "runs": [{"label": "a", "counters": [counter]}]})
    (tmp_path / "large.json").write_text(text)
    assert rows(heaptape.Report(tmp_path / "large.json").counters())[0]["value"] == 2**64 - 1


def test_released_reports_stay_readable():
    assert len(rows(heaptape.Report(ROOT / "tests/golden/report-v1.json").runs())) > 0


@pytest.mark.parametrize("text", ["", "[]", '{"runs": 1}', "\x89HTAPE"])
def test_other_files_are_one_sentence(tmp_path, text):
    (tmp_path / "other").write_text(text)
    with pytest.raises(
        heaptape.Error, match=r"other' is not a report: write one with `heaptape replay -o`$"
    ):
        heaptape.Report(tmp_path / "other")


def test_tape_is_no_report():
    with pytest.raises(heaptape.Error, match="is not a report"):
        heaptape.Report(QUESTIONS / "threads.tape")


def test_newer_reports_are_refused(tmp_path):
    (tmp_path / "newer.json").write_text('{"version": 2, "runs": []}')
    with pytest.raises(heaptape.Error, match="is a report of version 2"):
        heaptape.Report(tmp_path / "newer.json")


def test_missing_report_is_one_sentence():
    with pytest.raises(
        heaptape.Error, match=r"^cannot open '/no/such.json': No such file or directory$"
    ):
        heaptape.Report("/no/such.json")


def test_resident_sizes_of_an_imported_run_are_not_known(tool, tmp_path):
    trace = tmp_path / "a.mtrace"
    trace.write_text("= Start\n@ ./a:[0x4] + 0x4052a0 0x64\n")
    tool("import", "mtrace", trace, "-o", tmp_path / "a.tape")
    report = heaptape.replay(tmp_path / "a.tape", ["recorded", "glibc"])
    recorded, glibc = rows(report.runs())
    assert (recorded["peak.liveBytes"], recorded["peak.residentBytes"]) == (100, None)
    assert recorded["end.account.returnedBytes"] is None
    assert glibc["peak.residentBytes"] > 0
