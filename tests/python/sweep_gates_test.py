"""Gates of sweeps: their grammar, and their verdicts by examples worked out by hand."""

import dataclasses
import json

import pytest
from sweep_cells import cell, cells, results, run, tape

import heaptape
from heaptape._native import parse_gate
from heaptape.sweep.cells import Candidate
from heaptape.sweep.results import read_terms

GATE = "p90(peak.residentBytes)>+3%"
MIB = 1 << 20


@pytest.fixture
def judge(tmp_path):
    """The verdicts of gates on cells, beside those of another sweep if `base` is given."""

    def verdicts(made, *gates, base=None, **terms):
        if base is not None:
            results(tmp_path / "base", base)
            terms["against"] = tmp_path / "base"
        return results(tmp_path / "new", made, gates, **terms).verdicts

    return verdicts


def tapes(count, prefix="t"):
    return [tape(f"{prefix}{i}") for i in range(count)]


def of_label(verdicts, label):
    return next(verdict for verdict in verdicts if verdict.candidate == label)


@pytest.mark.parametrize(
    ("text", "value", "is_change", "is_percent", "extra"),
    [
        ("max(peak.residentBytes)>64MiB", 64 * MIB, False, False, 0),
        ("max(peak.residentBytes) >= 1.5KiB", 1536, False, False, 0),
        ("mean(peak.residentBytes)<2GB", 2 * 10**9, False, False, 0),
        ("min(end.liveCount)>2k", 2000, False, False, 0),
        ("p90(peak.residentBytes)>+3%", 0.03, True, True, 0),
        ("p10(peak.residentBytes) < -2.5 %", -0.025, True, True, 0),
        ("p99(peak.residentBytes)>+64MiB", 64 * MIB, True, False, 0),
        ("p90(peak.residentBytes) > +5% +1MiB", 0.05, True, True, MIB),
        ("p90(peak.residentBytes) < -5% -1MiB", -0.05, True, True, -MIB),
        ("median(time.nsPerEvent)>2us", 2000, False, False, 0),
        ("p75(peak.fragmentation)>0.25", 0.25, False, False, 0),
        ("max(counters.mappedBytes)>1MiB", MIB, False, False, 0),
        ("failed>0", 0, False, False, 0),
    ],
)
def test_gates_have_the_units_of_diff(text, value, is_change, is_percent, extra):
    gate = parse_gate(f"  {text} ")
    assert (gate.limit, gate.is_change, gate.is_percent, gate.extra) == (
        value,
        is_change,
        is_percent,
        extra,
    )
    assert gate.text == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p90(peak.residentByte)>+3%", "column 5: there is no metric 'peak.residentByte' (did you mean peak.residentBytes, "),
        ("p80(peak.residentBytes)>+3%", "column 1: there is no aggregate 'p80' (did you mean p10, p90 or p25?)"),
        ("p90 peak.residentBytes>3", "column 5: expected a metric in parentheses, such as p90(peak.residentBytes)"),
        ("p90(peak.residentBytes>3", "column 23: expected ')' after the metric"),
        ("p90(peak.residentBytes)+3%", "column 24: expected one of > >= < <= == !="),
        ("p90(peak.residentBytes)>1e400000", "column 25: expected a number that is neither too large nor too small"),
        ("failed>+3%", "column 10: expected no %: failed is a number of cells"),
        ("p90(end.liveCount)>3MiB", "column 21: expected no unit of bytes: end.liveCount is not in bytes"),
        ("", "column 1: expected a metric"),
        ("p90(\x1b[31m)>3", "'p90(\ufffd[31m)>3'"),
        ("p90(\udcff)>3", "'p90(\ufffd)>3'"),
    ],
)  # fmt: skip
def test_misspelt_gate_is_one_sentence_that_quotes_it(text, says):
    with pytest.raises(heaptape.Error) as error:
        read_terms([text], labels=["a"], baseline="a")
    sentence = str(error.value)
    assert says in sentence and "\n" not in sentence and "\x1b" not in sentence
    assert sentence.startswith("cannot read the gate '")


def test_change_needs_something_to_change_from():
    with pytest.raises(
        heaptape.Error, match=r"asks for a change: say against what, with --against"
    ):
        read_terms([GATE], labels=["a"])


def test_unknown_baseline_is_one_sentence():
    with pytest.raises(heaptape.Error, match=r"there is no candidate 'c' .*: they are a, b$"):
        read_terms([], labels=["a", "b"], baseline="c")


def test_one_tape_in_ten_may_grow(judge):
    of = tapes(10)
    base = cells({"a": [100] * 10}, of)
    (one,) = judge(cells({"a": [500] + [100] * 9}, of), GATE, base=base)
    (two,) = judge(cells({"a": [500, 104] + [100] * 8}, of), GATE, base=base)
    assert (one.state, two.state) == ("passed", "failed")
    assert two.value == 0.04 and [m.tape for m in two.beyond] == ["t0", "t1"]


def test_small_tapes_count_as_much_as_large_ones(judge):
    of = tapes(4)
    (verdict,) = judge(
        cells({"a": [MIB * 1000, 110, 110, 110]}, of),
        "median(peak.residentBytes)>+3%",
        base=cells({"a": [MIB * 1000, 100, 100, 100]}, of),
    )
    assert verdict.state == "failed" and verdict.value == 0.1


def test_limit_itself_is_no_breach(judge):
    of = tapes(1)
    base = cells({"a": [300]}, of)
    assert judge(cells({"a": [309]}, of), GATE, base=base)[0].state == "passed"
    assert judge(cells({"a": [310]}, of), GATE, base=base)[0].state == "failed"


def test_sentence_names_the_worst_five_tapes(judge):
    of = tapes(7)
    base = cells({"a": [100] * 7}, of)
    (verdict,) = judge(cells({"a": [110, 120, 130, 140, 150, 160, 100]}, of), GATE, base=base)
    assert verdict.text() == (
        "FAIL  p90(peak.residentBytes)>+3%  [a]  p90 is +60.00%, limit +3.00%; 6 of 7 tapes beyond; "
        "worst: t5 +60.00% (100 B to 160 B), t4 +50.00% (100 B to 150 B), "
        "t3 +40.00% (100 B to 140 B), t2 +30.00% (100 B to 130 B), t1 +20.00% (100 B to 120 B)"
    )
    assert verdict.json()["beyond"] == 6 and len(verdict.json()["worst"]) == 5


def test_percentage_with_bytes_added_spares_small_tapes(judge):
    of = tapes(2)
    base = cells({"a": [100, 100 * MIB]}, of)
    gate = "max(peak.residentBytes) > +5% +1MiB"
    assert judge(cells({"a": [5000, 105 * MIB]}, of), gate, base=base)[0].state == "passed"
    assert judge(cells({"a": [5000, 107 * MIB]}, of), gate, base=base)[0].state == "failed"


def test_change_in_bytes_is_of_each_tape(judge):
    of = tapes(2)
    (verdict,) = judge(
        cells({"a": [150, 1000]}, of),
        "max(peak.residentBytes)>+40B",
        base=cells({"a": [100, 1000]}, of),
    )
    assert verdict.value == 50 and [m.tape for m in verdict.beyond] == ["t0"]


def test_from_nothing_any_increase_is_too_much(judge):
    of = tapes(2)
    base = cells({"a": [0, 0]}, of)
    gate = "max(peak.residentBytes)>+1000%"
    assert judge(cells({"a": [0, 0]}, of), gate, base=base)[0].state == "passed"
    (verdict,) = judge(cells({"a": [0, 1]}, of), gate, base=base)
    assert verdict.state == "failed" and verdict.json()["value"] is None


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [("p10", 1), ("p25", 3), ("median", 5), ("p75", 8), ("p90", 9), ("p99", 10), ("min", 1), ("max", 10), ("mean", 5.5)],
)  # fmt: skip
def test_absolute_gates_judge_the_aggregate_of_values(judge, aggregate, value):
    made = cells({"a": list(range(10, 0, -1))})
    (above,) = judge(made, f"{aggregate}(peak.residentBytes)>={value + 1:.0f}B")
    assert (above.value, above.state) == (value, "passed")
    assert judge(made, f"{aggregate}(peak.residentBytes)<{value + 1:.0f}B")[0].state == "failed"


def test_gates_without_an_aggregate_judge_each_tape(judge):
    made = cells({"a": [5, 1, 9], "b": [4, 4, 4]})
    failed, passed = judge(made, "peak.residentBytes>4")
    assert (failed.state, failed.value, passed.state) == ("failed", 9, "passed")
    assert failed.detail == (
        "the worst is 9 B, limit 4 B; 2 of 3 tapes beyond; worst: t2 (9 B), t0 (5 B)"
    )
    assert [v.state for v in judge(made, "peak.residentBytes<4")] == ["failed", "passed"]
    assert [v.state for v in judge(made, "peak.residentBytes==4")] == ["passed", "failed"]
    assert [v.state for v in judge(made, "mean.residentBytes!=4")] == ["failed", "passed"]


def test_each_tape_grows_from_its_own_base(judge):
    base = cells({"a": [100, 10]}, tapes(2))
    (verdict,) = judge(cells({"a": [103, 11]}, tapes(2)), "peak.residentBytes>+3%", base=base)
    assert verdict.state == "failed" and [m.tape for m in verdict.beyond] == ["t1"]


def test_failed_cell_breaks_every_gate_that_takes_in_all_tapes(judge):
    made = cells({"a": [1, None]})
    for subject in ("peak.residentBytes", "mean(peak.residentBytes)"):
        for limit in (">5", "<0", "==7"):
            assert judge(made, subject + limit)[0].state == "failed"


def test_limit_beyond_all_numbers_is_written_as_json(judge, tmp_path):
    (verdict,) = judge(cells({"a": [1]}), "peak.residentBytes>1e400")
    assert verdict.state == "passed" and verdict.json()["limit"] is None


def test_falling_gates_name_the_lowest_tapes(judge):
    (verdict,) = judge(cells({"a": [5, 1, 9]}), "min(peak.residentBytes)<6")
    assert [m.tape for m in verdict.beyond] == ["t1", "t0"]


def test_cell_that_failed_is_worse_than_any(judge):
    made = cells({"a": [1, 1, 1, 1, 1, 1, 1, 1, 1, None]})
    assert judge(made, "p90(peak.residentBytes)>2")[0].state == "passed"
    (verdict,) = judge(made, "max(peak.residentBytes)>2")
    assert verdict.state == "failed" and verdict.detail.endswith("worst: t9 (failed)")
    assert judge(made, "min(peak.residentBytes)<1")[0].beyond[0].tape == "t9"


def test_figure_that_the_base_has_must_not_be_lost(judge):
    of = tapes(2)
    base = cells({"a": [1, 1]}, of)
    (verdict,) = judge(cells({"a": ["", 1]}, of), "max(peak.residentBytes)>+3%", base=base)
    assert verdict.state == "failed" and "t0 (has no peak.residentBytes any more)" in verdict.detail
    base = cells({"a": [1, 1], "b": [1, 1]}, of)
    all_lost, kept = judge(cells({"a": ["", ""], "b": [1, 1]}, of), GATE, base=base)
    assert (all_lost.state, kept.state) == ("failed", "passed")


def test_tapes_that_one_side_has_are_said_and_not_judged(judge):
    here, there = tapes(3), [*tapes(2), tape("old")]
    (verdict,) = judge(cells({"a": [1, 1, 99]}, here), GATE, base=cells({"a": [1, 1, 1]}, there))
    assert verdict.state == "passed" and verdict.tapes == 2
    assert "(1 tape only here, 1 tape only in the base)" in verdict.detail


def test_tapes_are_paired_by_their_digest(judge):
    new = cells({"a": [2]}, [tape("renamed", digest="d")])
    (verdict,) = judge(new, GATE, base=cells({"a": [1]}, [tape("t", digest="d")]))
    assert verdict.value == 1.0
    other = cells({"a": [1]}, [tape("renamed", digest="e")])
    (verdict,) = judge(new, GATE, base=other)
    assert (
        verdict.state == "failed"
        and "no tape has peak.residentBytes on both sides" in verdict.detail
    )


def test_tapes_with_the_same_bytes_are_all_in_the_base(judge):
    of = [tape("a", digest="d"), tape("copy", digest="d")]
    (verdict,) = judge(cells({"a": [1, 1]}, of), GATE, base=cells({"a": [1, 1]}, of))
    assert verdict.tapes == 2 and "only in the base" not in verdict.detail


def test_tape_that_cannot_be_read_any_more_is_worse_than_any(judge):
    unreadable = dataclasses.replace(tape("t0"), digest="")
    base = cells({"a": [1, 1]}, tapes(2))
    (verdict,) = judge(cells({"a": [None, 1]}, [unreadable, tape("t1")]), GATE, base=base)
    assert verdict.state == "failed" and verdict.detail.endswith("worst: t0 (failed)")


def test_labels_cannot_steer_the_terminal(judge):
    (verdict,) = judge(cells({"a\x1b[31m": [1]}), "max(peak.residentBytes)>1")
    assert "\x1b" not in verdict.text()


def test_candidates_are_paired_by_their_label(judge):
    of = tapes(1)
    base = cells({"a": [100], "b": [10]}, of)
    verdicts = judge(cells({"b": [10], "c": [1]}, of), GATE, base=base)
    assert [(v.candidate, v.state) for v in verdicts] == [("b", "passed"), ("c", "skipped")]


def test_gate_that_no_candidate_answers_fails(judge):
    of = tapes(1)
    (verdict,) = judge(cells({"c": [1]}, of), GATE, base=cells({"a": [1]}, of))
    assert (verdict.state, verdict.detail) == ("failed", "the base has no such candidate")
    (verdict,) = judge(cells({"c": [1]}, of), "p90(time.nsPerEvent)>1ns")
    assert (verdict.state, verdict.detail) == ("failed", "has no time.nsPerEvent")


def test_candidate_without_the_metric_is_skipped(judge):
    made = [cell(tape("t"), "a", run(1, time_nsPerEvent=5.0)), cell(tape("t"), "b", run(1))]
    verdicts = judge(made, "p90(time.nsPerEvent)>1ns")
    assert [v.state for v in verdicts] == ["failed", "skipped"]


def test_all_cells_failed_fails_every_gate(judge):
    verdicts = judge(cells({"a": [None, None]}), "p90(peak.residentBytes)>1", "failed>0")
    assert [v.state for v in verdicts] == ["failed", "failed"]


def test_baseline_is_another_candidate_of_the_sweep(judge):
    made = cells({"a": [100, 200], "b": [102, 300]})
    (verdict,) = judge(made, "max(peak.residentBytes)>+3%", baseline="a")
    assert (verdict.candidate, verdict.value) == ("b", 0.5)


def test_allocator_that_lacks_a_figure_is_not_judged_by_that_of_the_baseline(judge):
    timed = run(1, time_nsPerEvent=5.0)
    made = [cell(tape("t"), "a", timed), cell(tape("t"), "b", run(1)), cell(tape("t"), "c", timed)]
    verdicts = judge(made, "p90(time.nsPerEvent)>+3%", baseline="a")
    assert [(v.candidate, v.state) for v in verdicts] == [("b", "skipped"), ("c", "passed")]


def test_resident_bytes_of_the_recorded_run_are_of_other_memory(judge):
    made = cells({"a": [100]}) + [cell(tape("t0"), Candidate("r", "recorded"), run(900))]
    made += cells({"b": [100]})
    verdicts = judge(made, "max(peak.residentBytes)>+3%", baseline="a")
    assert [(v.candidate, v.state) for v in verdicts] == [("r", "skipped"), ("b", "passed")]


def test_failed_counts_cells(judge):
    verdicts = judge(cells({"a": [1, None, None], "b": [1, 1, 1]}), "failed>1")
    assert [v.state for v in verdicts] == ["failed", "passed"]
    assert verdicts[0].detail == "2 of 3 cells failed: t1, t2"


def test_failed_may_be_compared_with_the_base(judge):
    of = tapes(3)
    base = cells({"a": [1, None, 1]}, of)
    same, more = cells({"a": [None, 1, 1]}, of), cells({"a": [None, None, 1]}, of)
    assert judge(same, "failed>+0", base=base)[0].state == "passed"
    assert judge(more, "failed>+0", base=base)[0].state == "failed"


def test_tape_that_failed_in_the_base_is_not_judged(judge):
    of = tapes(2)
    base = cells({"a": [None, 100]}, of)
    (verdict,) = judge(cells({"a": [100, 100]}, of), GATE, base=base)
    assert (verdict.state, verdict.tapes) == ("passed", 1)


def test_counters_are_metrics_of_gates(judge):
    made = cell(tape("t"), "a", {**run(1), "counters": [{"name": "memoryCalls", "value": 7}]})
    (verdict,) = judge([made], "max(counters.memoryCalls)>6")
    assert (verdict.state, verdict.value) == ("failed", 7)


def test_figures_that_sweep_json_has_not_come_from_the_dataset(judge, tmp_path):
    made = [cell(tape("t"), "a=b c", {**run(1, end_slackBytes=v), "counters": [{"name": "x", "value": v}]}) for v in (5,)]  # fmt: skip
    gates = ["max(end.slackBytes)>+0", "max(counters.x)>+0"]
    assert [v.state for v in judge(made, *gates, base=made)] == ["passed", "passed"]
    assert judge(made, *gates, base=made)[0].beyond == []
    alone = tmp_path / "alone.json"
    alone.write_bytes((tmp_path / "base/sweep.json").read_bytes())
    with pytest.raises(
        heaptape.Error, match=r"has no end.slackBytes of its cells: keep that sweep"
    ):
        read_terms(gates, labels=["a=b c"], against=alone)


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"version":1,"candidates":[]}', '{"version":1,"candidates":[1],"tapes":[]}']
)  # fmt: skip
def test_file_that_is_no_sweep_is_one_sentence(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(heaptape.Error, match=r"x.json' is not the sweep.json of a sweep: name one"):
        read_terms([GATE], labels=["a"], against=tmp_path / "x.json")


def test_sweep_of_another_version_is_one_sentence(judge, tmp_path):
    judge(cells({"a": [1]}), base=cells({"a": [1]}))
    path = tmp_path / "base/sweep.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 2}))
    with pytest.raises(heaptape.Error, match=r"is of version 2, and this heaptape reads version 1"):
        read_terms([GATE], labels=["a"], against=path)


def test_missing_base_is_one_sentence(tmp_path):
    with pytest.raises(heaptape.Error, match=r"^cannot open '.*/none': No such file or directory$"):
        read_terms([GATE], labels=["a"], against=tmp_path / "none")
