"""figures(run), compared with the tables of a report and with sums made by hand."""

import pytest
from conftest import QUESTIONS, rows

import heaptape
from heaptape._native import metric_unit
from heaptape.run_figures import figures

MIB = 1 << 20


def run_of(resident, **clocks):
    return {"label": "a", "timeline": {"residentBytes": resident, **clocks}}


@pytest.fixture(scope="module")
def report():
    return heaptape.replay(QUESTIONS / "threads.tape", ["model:ptmalloc", "model:ideal"])


# Columns of text, empty where a run has none.
TEXTS = (
    "clock",
    "failure.text",
    "incomparable",
    "allocator.family",
    "allocator.version",
    "allocator.library",
)


def test_figures_are_the_numbers_of_runs(report):
    for run, row in zip(report.json["runs"], rows(report.runs()), strict=True):
        found = figures(run)
        numbers = {
            name: value
            for name, value in row.items()
            if not isinstance(value, str) and not name.startswith("tape.")
        }
        assert numbers.items() <= found.items() | {(name, None) for name in TEXTS}


def test_counters_are_figures(report):
    assert figures(report.json["runs"][0])["counters.tcacheHits"] == 1142


def test_mean_of_a_real_run_lies_between_its_samples(report):
    run = report.json["runs"][0]
    resident = run["timeline"]["residentBytes"]
    assert min(resident) < figures(run)["mean.residentBytes"] < max(resident)


def test_samples_are_weighed_by_the_time_to_the_next_one():
    run = run_of([8 * MIB, 2 * MIB, 4 * MIB], at=[10, 20, 30], timeNs=[0, 1000, 4000])
    assert figures(run)["mean.residentBytes"] == 3.5 * MIB  # 8 for 1 us, then 2 for 3 us


def test_calls_weigh_where_the_tape_has_no_times():
    run = run_of([8 * MIB, 2 * MIB, 4 * MIB], at=[10, 20, 30])
    assert figures(run)["mean.residentBytes"] == 5 * MIB
    assert figures(run | run_of([8, 2, 4], at=[0, 3, 4], timeNs=[0, 0, 0])) == figures(
        run | run_of([8, 2, 4], at=[0, 3, 4])
    )


def test_one_sample_is_the_mean():
    assert figures(run_of([4096], at=[1], timeNs=[7]))["mean.residentBytes"] == 4096


def test_without_a_timeline_there_is_no_mean():
    assert figures({"label": "a"})["mean.residentBytes"] is None
    assert figures(run_of([], at=[]))["mean.residentBytes"] is None


def test_run_that_failed_has_no_figures():
    run = {"label": "a", "failure": {"event": 12, "text": "malloc gave NULL"}, "timeline": {}}
    found = {name: value for name, value in figures(run).items() if value is not None}
    assert found == {"failure.event": 12}


def test_integers_that_are_text_are_exact():
    run = {
        "end": {
            "liveBytes": "9007199254740993",
            "account": {"unexplainedBytes": "-9007199254740993"},
        },
        "counters": [{"name": "big", "value": "18446744073709551615"}],
        **run_of(["9007199254740992", "0"], at=["1", "2"]),
    }
    found = figures(run)
    assert found["end.liveBytes"] == 2**53 + 1
    assert found["end.account.unexplainedBytes"] == -(2**53) - 1
    assert found["counters.big"] == 2**64 - 1
    assert found["mean.residentBytes"] == 2**53


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("peak.committedBytes", "bytes"),
        ("peak.committedBytes.at", "count"),
        ("peak.holes.largest", "bytes"),
        ("time.nsPerEvent", "ns"),
        ("end.fragmentation", "ratio"),
        ("mean.residentBytes", "bytes"),
        ("counters.mappedBytes", "bytes"),
        ("counters.memoryCalls", "count"),
    ],
)
def test_figures_have_the_units_of_the_schema(metric, unit):
    assert metric_unit(metric) == unit


@pytest.mark.parametrize(
    ("lack", "known"),
    [
        ("returnedPages", {"residentBytes", "residentHoleBytes", "purgeableBytes"}),
        ("residentPages", {"residentBytes"}),
        ("residentSizes", set()),
    ],
)
def test_what_a_run_lacks_is_no_figure(lack, known):
    run = {
        "lacks": [lack],
        "peak": {"liveBytes": {"value": 5}, "residentBytes": {"value": 7}},
        "end": {
            "residentBytes": 7,
            "residentHoleBytes": 7,
            "account": {
                "holeBytes": 3,
                **dict.fromkeys(("returnedBytes", "untouchedBytes", "purgeableBytes"), 7),
            },
        },
    }
    found = figures(run)
    assert (found["peak.liveBytes"], found["end.account.holeBytes"]) == (5, 3)
    assert (found["peak.residentBytes"] == 7) == ("residentBytes" in known)
    for metric in ("residentBytes", "residentHoleBytes"):
        assert (found[f"end.{metric}"] == 7) == (metric in known)
    for metric in ("returnedBytes", "untouchedBytes", "purgeableBytes"):
        assert (found[f"end.account.{metric}"] == 7) == (metric in known)
