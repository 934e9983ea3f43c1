"""What heaptape tune finds and says: settings, their change, what carries to other tapes."""

import dataclasses
import json
import math
import os
import re
import subprocess
from types import SimpleNamespace

import pytest
from conftest import QUESTIONS, needs_glibc_2_36

import heaptape
from heaptape._native import percent_text
from heaptape.run_figures import figures
from heaptape.tune import tune
from heaptape.tune.confirm import OnLibrary, Time
from heaptape.tune.confirming import Confirmation
from heaptape.tune.front import Tried, spread_out
from heaptape.tune.knobs import space
from heaptape.tune.point import faster_setting
from heaptape.tune.replays import OBJECTIVES, RISEN, objective_values, risen_pages
from heaptape.tune.results import Findings
from heaptape.tune.summary import summary

THREADS = QUESTIONS / "threads.tape"
TRIALS = 64
CORES = os.cpu_count()


@pytest.fixture(scope="module", autouse=True)
def few_candidates():
    """Beside the points of interest: to confirm more takes longer and tests the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heaptape.tune.tuning._CANDIDATES", 2)
        yield


def test_a_long_front_is_taken_at_even_distances_with_both_ends():
    assert spread_out(range(10), 4) == [0, 3, 6, 9]
    assert spread_out(range(3), 4) == [0, 1, 2]


@pytest.fixture(scope="module")
def make(tool, tmp_path_factory):
    """Makes a tape of a scenario."""
    folder = tmp_path_factory.mktemp("tapes")

    def make_tape(name, *settings):
        path = folder / f"{name}{'-'.join(settings)}.tape"
        tool("scenario", name, *(w for s in settings for w in ("--set", s)), "-o", path)
        return path

    return make_tape


@pytest.fixture(scope="module")
def threshold(make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("threshold")
    tape = make("mmap-threshold")
    return tape, tune([tape], folder, allocator="glibc", trials=TRIALS, repeats=2), folder


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    """A recording of git with five threads."""
    folder = tmp_path_factory.mktemp("threads")
    return tune([THREADS], folder, trials=40, repeats=1)


def peak_of(tape, spec):
    return heaptape.replay(tape, [spec]).json["runs"][0]["peak"]["committedBytes"]["value"]


def test_most_of_the_avoidable_peak_of_the_mmap_threshold_is_found(threshold):
    assert threshold[1]["points"]["smallest"]["shareRemoved"]["peak"] >= 0.8


@needs_glibc_2_36
def test_most_of_the_avoidable_peak_of_patching_manifests_is_found(make, tmp_path):
    tape = make("manifest-patching", "manifests=40")
    result = tune([tape], tmp_path, trials=24, repeats=0)
    point = result["points"]["smallest"]
    assert point["shareRemoved"]["peak"] >= 0.8
    assert point["library"]["peak"] == pytest.approx(point["change"]["peak"], abs=1e-6)


def test_what_is_found_holds_where_it_is_pasted(threshold):
    """The line in the environment of a replay on the real glibc."""
    tape, result, _ = threshold
    point = result["points"]["smallest"]
    expected = result["tapes"][0]["default"]["peak"] * (1 + point["change"]["peak"])
    assert peak_of(tape, f"glibc {point['line']}") == pytest.approx(expected)
    assert peak_of(tape, "glibc") == result["tapes"][0]["default"]["peak"]


def test_share_removed_is_of_what_the_default_has_beyond_ideal(threshold):
    tape, result, _ = threshold
    ideal, default = peak_of(tape, "model:ideal"), peak_of(tape, "model:ptmalloc")
    for point in result["points"].values():
        peak = default * (1 + point["change"]["peak"])
        share = (default - peak) / (default - ideal)
        assert point["shareRemoved"]["peak"] == pytest.approx(share)


def test_fewer_arenas_take_less_memory(threads):
    """The known trade: its other side, time, is in ./dev bench tune, where it may be noisy."""
    names = [knob["name"] for knob in threads["knobs"]]
    assert "arena_max" in names
    smallest = threads["points"]["smallest"]
    assert smallest["settings"]["arena_max"] == "1"
    one = peak_of(THREADS, "glibc GLIBC_TUNABLES=glibc.malloc.arena_max=1")
    assert one < 0.9 * peak_of(THREADS, "glibc")
    assert smallest["library"]["peak"] < -0.1


def test_tapes_of_threads_are_timed_with_threads_at_the_same_time_too(threads):
    on_library = threads["points"]["balanced"]["searched"][0]["library"]
    for name in ("time", "timeFree"):
        assert on_library[name]["nsPerEvent"] > 0
        assert on_library[name]["least"] <= on_library[name]["change"] <= on_library[name]["most"]


def test_the_front_has_nothing_that_another_trial_dominates(threads):
    tried = [list(trial["change"].values()) for trial in threads["trials"]]
    for trial in threads["trials"]:
        values = list(trial["change"].values())
        better = [
            other
            for other in tried
            if other != values and all(a <= b for a, b in zip(other, values, strict=True))
        ]
        if trial["onFront"]:
            assert not better


def test_the_place_of_the_default_is_counted(threads):
    distinct = {json.dumps(trial["settings"]): trial["change"] for trial in threads["trials"]}
    better = [
        change
        for change in distinct.values()
        if max(change.values()) <= 0 and min(change.values()) < 0
    ]
    place = threads["default"]
    assert (place["dominatedBy"], place["settings"]) == (len(better), len(distinct))
    for name, rank in place["rank"].items():
        assert rank == 1 + sum(change[name] < 0 for change in distinct.values())


def test_each_knob_of_a_point_is_needed(threads):
    """Without any one of them some objective is worse."""
    for point in threads["points"].values():
        whole = figures_on_model(point["settings"])
        for name in point["settings"]:
            others = {knob: v for knob, v in point["settings"].items() if knob != name}
            assert not as_good(figures_on_model(others), whole)


def figures_on_model(settings):
    options = ",".join([f"cores={CORES}", *(f"{name}={v}" for name, v in settings.items())])
    spec = f"model:ptmalloc:{options}"
    run = heaptape.replay(THREADS, [f"x={spec}"], options=["--samples", "1024"]).json["runs"][0]
    counted = {**figures(run), RISEN: risen_pages(run)}
    values = objective_values(counted, "peak.committedBytes", space("glibc", "model").work)
    return [values[name] for name in OBJECTIVES]


def as_good(values, others):
    return all(value <= other for value, other in zip(values, others, strict=True))


def test_interactions_are_those_of_a_two_level_factorial(threads):
    point = threads["points"]["smallest"]
    cells = [each for each in point["interactions"] if each["objective"] == "peak"]
    default = figures_on_model({})[0]
    assert cells or len(point["settings"]) < 2
    for each in cells:
        one, other = ({name: point["settings"][name]} for name in each["knobs"])
        changes = [figures_on_model(s)[0] / default - 1 for s in (one, other, {**one, **other})]
        assert [*each["alone"], each["together"]] == pytest.approx(changes)
        assert each["interaction"] == pytest.approx(changes[2] - changes[0] - changes[1])


def test_importances_are_shares(threads):
    for objective in ("peak", "mean", "plateau", "work"):
        shares = [knob["importance"][objective] for knob in threads["knobs"]]
        assert math.fsum(shares) == pytest.approx(1)


def test_what_the_library_does_otherwise_than_the_model_is_told(threads):
    on_library = threads["points"]["smallest"]["searched"][0]["library"]
    assert set(on_library["differsFromSearch"]) == {"peak", "mean", "plateau"}


@pytest.fixture(scope="module")
def several(make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    tapes = [make("mmap-threshold", f"to={to}00000") for to in (6, 8, 10, 12)]
    return tapes, tune(tapes, folder, trials=16, repeats=0), folder


def test_a_part_of_several_tapes_is_not_searched_on(several):
    tapes, result, _ = several
    held = [tape["path"] for tape in result["tapes"] if tape["heldOut"]]
    assert len(held) == 1
    for point in result["points"].values():
        assert [each["tape"] for each in point["heldOut"]] == held
        assert len(point["searched"]) == len(tapes) - 1


def test_what_was_found_is_replayed_on_the_tapes_held_out(several):
    _, result, _ = several
    point = result["points"]["smallest"]
    tape = point["heldOut"][0]["tape"]
    settings = "".join(f",{name}={value}" for name, value in point["settings"].items())
    peaks = [peak_of(tape, f"x=model:ptmalloc:cores={CORES}{s}") for s in ("", settings)]
    assert point["heldOut"][0]["change"]["peak"] == pytest.approx(peaks[1] / peaks[0] - 1)


def test_the_summary_sets_tapes_held_out_beside_those_searched_on(several):
    result = several[1]
    row = next(
        line
        for line in summary(result).splitlines()
        if re.match(r"smallest( +[<>]?[-+\d.]+%){12}$", line)
    )
    point = result["points"]["smallest"]
    held = point["heldOut"][0]["change"]["peak"]
    assert row.split()[1:4] == list(map(percent_text, (held, point["change"]["peak"], held)))


def test_several_tapes_count_by_the_geometric_mean(several):
    for point in several[1]["points"].values():
        changes = [1 + each["change"]["peak"] for each in point["searched"]]
        mean = math.prod(changes) ** (1 / len(changes))
        assert point["change"]["peak"] == pytest.approx(mean - 1)


def test_no_tape_is_held_out_of_one(threshold):
    assert [tape["heldOut"] for tape in threshold[1]["tapes"]] == [False]


def test_a_default_that_is_the_best_is_called_so(make, tmp_path):
    """A few small blocks, which take the first pages whatever is set."""
    tape = make("fill", "count=10")
    result = tune([tape], tmp_path, trials=1, repeats=0)
    assert result["default"]["best"]
    assert {point["line"] for point in result["points"].values()} == {""}


def test_without_the_library_nothing_is_confirmed_and_it_says_so(make, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "heaptape.tune.confirming.library_error", lambda space, tape: "glibc is not installed"
    )
    result = tune([make("mmap-threshold")], tmp_path, trials=1)
    assert result["library"]["error"] == "glibc is not installed"
    assert "nothing was confirmed on the real library: glibc is not installed" in result["notes"]


@pytest.mark.parametrize(("version", "is_told"), [("2.41", True), ("2.36", False), ("", False)])
def test_a_tape_of_another_version_is_told(version, is_told, make, tmp_path, monkeypatch):
    tape = make("fill", "count=10")
    facts = {**heaptape.Tape(tape).facts, "allocatorFamily": "glibc", "allocatorVersion": version}
    monkeypatch.setattr("heaptape.tune.tuning.Tape", lambda path: SimpleNamespace(facts=facts))
    told = "the tapes were recorded on glibc 2.41, and the knobs are those of 2.36"
    assert (told in tune([tape], tmp_path, trials=1, repeats=0)["notes"]) == is_told


@pytest.mark.parametrize("allocator", ["jemalloc", "mimalloc", "tcmalloc"])
def test_other_allocators_are_searched_by_what_is_resident(allocator, tmp_path):
    result = tune([THREADS], tmp_path, allocator=allocator, trials=11, repeats=0)
    searched_on = "model:slabs" if allocator == "jemalloc" else allocator
    assert result["allocator"]["searchedOn"] == searched_on
    assert result["objectives"]["peak"] == "peak.residentBytes"
    assert result["points"]["smallest"]["change"]["peak"] < 0


def test_the_knobs_are_those_of_the_installed_version(tmp_path, monkeypatch):
    monkeypatch.setattr("heaptape.tune.tuning.installed_version", lambda allocator: "3.0.1")
    result = tune([THREADS], tmp_path, allocator="mimalloc", trials=1, repeats=0)
    assert {"purge_delay", "arena_reserve"} <= {knob["name"] for knob in result["knobs"]}


def test_the_library_has_knobs_that_the_model_lacks(tmp_path):
    result = tune([THREADS], tmp_path, engine="library", trials=2, repeats=0)
    assert result["allocator"]["searchedOn"] == "glibc"
    names = {knob["name"] for knob in result["knobs"]}
    assert {"mxfast", "tcache_max", "mmap_threshold"} <= names


def test_the_page_has_the_lines_and_every_trial(threshold):
    _, result, folder = threshold
    page = (folder / "tune.html").read_text()
    for point in result["points"].values():
        assert point["line"] in page.replace("&#39;", "'")
    charts = json.loads(re.search(r'id="figures">(.*?)</script>', page)[1])
    marks = {data["name"]: data for data in charts[0]["data"]}
    assert {"tried", "front", "default", "smallest", "fastest", "balanced"} <= set(marks)
    assert len(marks["tried"]["x"]) + len(marks["front"]["x"]) == len(result["trials"])
    assert "top_pad=" in "".join(marks["front"]["text"])


def test_the_json_is_what_is_returned(threshold):
    assert json.loads((threshold[2] / "tune.json").read_text()) == threshold[1]


def test_a_line_starts_a_program(threshold):
    line = threshold[1]["points"]["smallest"]["line"]
    subprocess.run(["sh", "-c", f"{line} /bin/true"], check=True)


@pytest.mark.parametrize(
    ("repeats", "least", "faster"), [(2, 20.0, (1,)), (1, 20.0, None), (2, 9.0, None)]
)
def test_a_setting_is_called_faster_where_all_repeats_say_so(repeats, least, faster):
    tried = [Tried(i, (i,), {}, ()) for i in range(2)]
    times = {(1,): Time(9.5, 9.0, 10.0), (0,): Time(21.0, least, 22.0)}
    library = {("t", setting): OnLibrary({}, time) for setting, time in times.items()}
    found = Findings(
        space=dataclasses.replace(space("glibc", "model"), knobs=()),
        searched=["t"],
        base=(),
        tried=tried,
        front=tried,
        candidates=tried,
        points={"fastest": tried[0]},
        interactions={},
        objective="peak",
        confirmed=Confirmation(library, repeats=repeats),
    )
    assert faster_setting(found) == faster
