"""The answer of heaptape tune in words: settings, other allocators, malloc_trim, warnings."""

import dataclasses
import html
import re

import pytest
from conftest import QUESTIONS

import heaptape
from heaptape.tune import tune
from heaptape.tune.answer import answer
from heaptape.tune.candidates import choose_points, find_slow
from heaptape.tune.compare import Comparison, compare
from heaptape.tune.confirm import OnLibrary, Time
from heaptape.tune.confirming import Confirmation
from heaptape.tune.findings import Findings
from heaptape.tune.front import Tried
from heaptape.tune.knobs import space
from heaptape.tune.summary import summary, time_text

MIB = 1 << 20
SPACE = dataclasses.replace(space("glibc", "model"), knobs=space("glibc", "model").knobs[:1])
DEFAULT, SMALL, SMALLER = (0,), (1,), (2,)


def library(peak, time=None, plateau=8 * MIB):
    """At the peak of live bytes it holds a mebibyte less than at its own."""
    held = {"peak": peak, "mean": peak, "plateau": plateau, "peak.residentBytes": peak}
    held["atPeak.residentBytes"] = peak - MIB
    return OnLibrary(held, Time(*time) if time else None)


def tried(index, setting, peak):
    ratios = {"peak": peak, "mean": peak, "plateau": 1.0, "work": 1.0}
    values = {"peak": peak * 10 * MIB, "mean": MIB, "plateau": 8.0 * MIB, "work": 1.0}
    return Tried(index, setting, ratios, (values,))


def findings(on_library=(), verdict=None, runs=None, **fields):
    """Two settings, of which one takes a tenth of the peak and the other a half."""
    trials = [tried(0, DEFAULT, 1.0), tried(1, SMALL, 0.9), tried(2, SMALLER, 0.5)]
    found = Findings(
        space=SPACE,
        searched=["t"],
        base=trials[0].values,
        tried=trials,
        front=trials,
        candidates=trials[1:],
        points={},
        objective="peak",
        interactions={},
        facts={"t": {"events": 1000, "durationNs": 1000 * 100 * 2}},
        comparisons={"t": Comparison({"errorShare": 0.03, **(verdict or {"moment": "peak"})}, runs or {})},
        confirmed=Confirmation({("t", key): run for key, run in dict(on_library).items()}),
        installed="2.36",
    )
    found = dataclasses.replace(found, **fields)
    found.confirmed.repeats = 3
    found.too_slow = find_slow(found)
    found.points = choose_points(found)
    return found


FAST, SLOW = (100, 99, 101), (150, 140, 160)
MEASURED = {DEFAULT: library(10 * MIB, FAST), SMALL: library(9 * MIB, FAST)}
MEASURED |= {SMALLER: library(5 * MIB, SLOW)}
SMALLER_LINE = SPACE.line(SMALLER)


def test_settings_that_help_are_the_answer():
    sentences = answer(findings(MEASURED))["sentences"]
    assert sentences[0] == (
        f"{SMALLER_LINE} takes the committed peak from 10.0 MiB to 5.00 MiB (-50.00%); "
        "time of calls: +50.00%; measured on glibc 2.36, 3 repeats"
    )


def test_a_time_within_noise_has_no_figure():
    noisy = {**MEASURED, SMALLER: library(5 * MIB, (110, 100, 120))}
    assert "; time of calls: no difference measured (±20%); " in answer(findings(noisy))["sentences"][0]
    time = {"change": 0.1, "least": 0.0, "most": 0.2, "noise": 0.2, "withinNoise": True}
    assert time_text([time]) == "no difference measured (±20%)"
    assert time_text([time | {"noise": 1.01}]) == "too noisy to compare"


def test_settings_that_save_less_than_the_error_are_no_answer():
    same = {**MEASURED, SMALL: library(9.9 * MIB), SMALLER: library(9.8 * MIB)}
    found = answer(findings(same))
    assert found["kind"] == "nothing"
    assert found["sentences"][0].startswith(
        "settings of glibc have nothing to gain: of 3 settings tried, none takes the committed "
        "peak down by 64.0 KiB and by more than the error of a prediction (3%); measured on glibc 2.36"
    )


def test_the_library_decides_and_not_the_model():
    other = {**MEASURED, SMALLER: library(10 * MIB), SMALL: library(4 * MIB)}
    assert answer(findings(other))["sentences"][0].startswith(f"{SPACE.line(SMALL)} takes")


def test_slower_settings_are_no_candidates():
    found = findings(MEASURED, max_slowdown=0.03)
    assert found.too_slow == [SMALLER]
    assert found.points["smallest"].setting == SMALL


def test_settings_that_are_slower_within_noise_are_candidates():
    noisy = {**MEASURED, SMALLER: library(5 * MIB, (150, 101, 160))}
    assert findings(noisy, max_slowdown=0.03).points["smallest"].setting == SMALLER


def test_the_default_remains_if_all_others_are_slower():
    slow = {**MEASURED, SMALL: library(9 * MIB, SLOW)}
    assert findings(slow, max_slowdown=0.03).points["smallest"].setting == DEFAULT


def allocator_verdict(bytes_):
    finding = {"kind": "allocator", "bytes": bytes_, "errorBytes": MIB, "allocator": "mimalloc"}
    return {"moment": "peak", "findings": [{**finding, "evidence": "", "action": "try it: `X`"}]}


def test_an_allocator_that_holds_less_than_the_settings_is_the_answer():
    runs = {"mimalloc": {"atPeak.residentBytes": 2 * MIB}}
    found = answer(findings(MEASURED, allocator_verdict(8 * MIB), runs))
    assert (found["kind"], found["sentences"][0]) == (
        "allocator",
        "mimalloc would hold 2.00 MiB at the peak where yours holds 10.0 MiB and the best settings "
        "4.00 MiB; the prediction may be wrong by 1.00 MiB; try it: `X`",
    )
    assert found["sentences"][1].startswith(SMALLER_LINE)


def test_an_allocator_that_holds_as_little_as_the_settings_is_not():
    # Less than the settings' own peak by more than the error, but not at the same moment.
    runs = {"mimalloc": {"atPeak.residentBytes": 3.5 * MIB}}
    found = answer(findings(MEASURED, allocator_verdict(round(6.5 * MIB)), runs))
    assert found["kind"] == "settings"
    assert any(text.startswith("mimalloc would hold 3.50 MiB") for text in found["sentences"])


def test_memory_beside_malloc_is_a_warning():
    finding = {"kind": "besideMalloc", "evidence": "2 GiB is beside malloc", "action": "set this"}
    sentences = answer(findings(MEASURED, {"findings": [finding]}))["sentences"]
    assert "2 GiB is beside malloc; set this" in sentences


@pytest.mark.parametrize(("duration", "is_told"), [(2_100_000, True), (1_900_000, False)])
def test_a_small_part_of_the_time_is_a_warning(duration, is_told):
    facts = {"t": {"events": 1000, "durationNs": duration}}
    sentences = answer(findings(MEASURED, facts=facts))["sentences"]
    told = "calls of malloc are about 4.8% of the run's time: faster calls would hardly shorten it"
    assert (told in sentences) == is_told


@pytest.fixture(scope="module")
def sliver(tool, tmp_path_factory):
    """One small block keeps half of the heap: in mimalloc it does not."""
    path = tmp_path_factory.mktemp("answer") / "sliver.tape"
    tool("scenario", "sliver-pin", "-o", path)
    return str(path)


def test_the_error_is_that_of_the_verdict(sliver):
    comparison = compare(sliver, ["glibc", "mimalloc"], 1)
    finding = comparison.finding("allocator")
    glibc = comparison.runs["glibc"]["atPeak.residentBytes"]
    assert int(comparison.error_of("glibc", glibc)) == finding["errorBytes"]


def test_another_allocator_is_found_on_a_tape(sliver, tmp_path):
    result = tune([sliver], tmp_path, allocator="glibc", trials=1, repeats=0)
    first = result["answer"]["sentences"][0]
    assert result["answer"]["kind"] == "allocator"
    assert " at the peak where yours holds 16.9 MiB and the best settings 16." in first
    page = re.sub("</?code>", "`", html.unescape((tmp_path / "tune.html").read_text()))
    assert f">{first}.</p>" in page
    assert summary(result).startswith(first)
    names = [row["name"] for row in result["measured"]]
    assert {"default", "malloc_trim(0)", "mimalloc", "jemalloc"} <= set(names)
    assert result["measured"][0]["tapes"][0]["systemCalls"] > 0


def test_the_verdict_chooses_the_plateau(tmp_path):
    tape = str(QUESTIONS / "python.tape")
    result = tune([tape], tmp_path, trials=4, repeats=0)
    plateau = heaptape.replay(tape, ["model:ptmalloc"]).json["runs"][0]["atPlateau"]
    assert result["objective"] == "plateau"
    assert result["tapes"][0]["default"]["plateau"] == plateau["residentBytes"]
    assert result["answer"]["kind"] == "trim"
    assert result["answer"]["sentences"][0].startswith("at the plateau, malloc_trim(0) would give")


def test_another_objective_can_be_chosen(sliver, tmp_path):
    result = tune([sliver], tmp_path, trials=9, repeats=0, objective="mean")
    assert result["objective"] == "mean"
    assert "mean resident memory" in " ".join(result["answer"]["sentences"])


def test_an_allocator_that_is_too_slow_gives_way_to_the_next(sliver, tmp_path, monkeypatch):
    best = {"allocator": compare(sliver, ["glibc", "mimalloc"], 1).finding("allocator")["allocator"]}
    monkeypatch.setattr("heaptape.tune.tuning.specs_to_compare", lambda space: ["glibc", "mimalloc", "tcmalloc"])
    monkeypatch.setattr("heaptape.tune.tuning.find_slow", lambda found: ["mimalloc"])
    result = tune([sliver], tmp_path, allocator="glibc", trials=1, repeats=0)
    assert best["allocator"] == "mimalloc"
    assert result["answer"]["sentences"][0].startswith("tcmalloc would hold ")
    assert [row["tooSlow"] for row in result["measured"] if row["name"] == "mimalloc"] == [True]


def test_the_answer_on_several_tapes_is_a_mean_and_names_the_tapes_held_out(tool, tmp_path):
    tapes = [tmp_path / f"{n}.tape" for n in (1, 2)]
    for path, manifests in zip(tapes, (40, 50), strict=True):
        tool("scenario", "manifest-patching", "--set", f"manifests={manifests}", "-o", path)
    result = tune(tapes, tmp_path / "tuned", allocator="glibc", trials=9, repeats=0, hold_out=1)
    first = result["answer"]["sentences"][0]
    assert result["answer"]["kind"] == "settings"
    assert "; predicted on 1 tape held out: -" in first
    both = tune(tapes, tmp_path / "both", allocator="glibc", trials=9, repeats=0, hold_out=0)
    assert " down by " in both["answer"]["sentences"][0]
    assert "% on 2 tapes; measured on glibc" in both["answer"]["sentences"][0]
