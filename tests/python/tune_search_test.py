"""The search of heaptape tune: reproducible, resumable, within its budget."""

import json
import os
import shutil
import types

import pytest
from conftest import QUESTIONS

import heaptape
from heaptape.tune import clock, confirming, tune
from heaptape.tune.confirm import OnLibrary
from heaptape.tune.journal import JOURNAL, Journal
from heaptape.tune.search import BATCH

THREADS = QUESTIONS / "threads.tape"
TRIALS = 3 * BATCH + 3


@pytest.fixture(scope="module")
def threshold(tool, tmp_path_factory):
    """A tape of 150 calls."""
    path = tmp_path_factory.mktemp("search") / "threshold.tape"
    tool("scenario", "mmap-threshold", "-o", path)
    return path


@pytest.fixture(autouse=True)
def model_alone(monkeypatch):
    """These are about the search: nothing is confirmed, which takes most of the time."""
    monkeypatch.setattr(
        "heaptape.tune.confirming.library_error", lambda space, tape: "left out here"
    )


def search(tape, folder, **options):
    options = {"trials": TRIALS, "allocator": "glibc", **options}
    return tune([tape], folder, **options)


def results_of(result):
    """What a search found, without how long it took."""
    return {name: result[name] for name in ("trials", "front", "points", "default", "knobs")}


@pytest.fixture(scope="module")
def whole(threshold, tmp_path_factory):
    """A search that nothing disturbed, and its folder."""
    folder = tmp_path_factory.mktemp("whole") / "tuned"
    patch = pytest.MonkeyPatch()
    patch.setattr("heaptape.tune.confirming.library_error", lambda space, tape: "left out here")
    result = search(threshold, folder)
    patch.undo()
    return result, folder


def test_times_are_taken_of_all_settings_but_those_that_failed(monkeypatch):
    times = {setting: object() for setting in ("first", "failed", "last")}
    monkeypatch.setattr(confirming, "measure_times", lambda *_: times)
    found = {("a.tape", setting): OnLibrary({}) for setting in ("first", "last")}
    unlimited = types.SimpleNamespace(seconds_left=lambda _: 1)
    tapes = ["a.tape"]
    specs = {setting: setting for setting in times}
    confirming._add_times(specs, tapes, {*tapes}, 1, found, unlimited, lambda _: None)
    assert found == {
        ("a.tape", setting): OnLibrary({}, times[setting], times[setting])
        for setting in ("first", "last")
    }


def test_the_same_seed_finds_the_same_whatever_the_number_of_jobs(whole, threshold, tmp_path):
    result = search(threshold, tmp_path / "again", jobs=5)
    assert len(result["trials"]) == TRIALS
    assert results_of(result) == results_of(whole[0])


def test_another_seed_tries_other_settings(whole, threshold, tmp_path):
    result = search(threshold, tmp_path / "other", seed=2)
    assert result["trials"] != whole[0]["trials"]


def test_the_default_is_the_first_trial(whole):
    first = whole[0]["trials"][0]
    assert first["settings"] == {}
    assert set(first["change"].values()) == {0}


def test_a_search_goes_on(whole, threshold, tmp_path):
    search(threshold, tmp_path / "tuned", trials=2 * BATCH)
    result = search(threshold, tmp_path / "tuned", resume=True)
    assert results_of(result) == results_of(whole[0])


@pytest.mark.parametrize("kept", [0.03, 0.4, 0.5, 0.62, 0.81, 0.98])
def test_a_search_that_was_killed_goes_on_as_if_it_had_not_been(kept, whole, threshold, tmp_path):
    """Killed as it wrote its journal: of that a part is left."""
    journal = (whole[1] / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(journal[: int(len(journal) * kept)])
    result = search(threshold, tmp_path, resume=True)
    assert results_of(result) == results_of(whole[0])


def settings_of(spec):
    """Of `model:ptmalloc:cores=2,top_pad=0`."""
    options = dict(option.split("=") for option in spec.rpartition(":")[2].split(","))
    return {name: value for name, value in options.items() if name != "cores"}


def test_what_was_tried_is_not_replayed_again(whole, threshold, tmp_path, monkeypatch):
    shutil.copy(whole[1] / JOURNAL, tmp_path)
    replayed = []
    from heaptape.tune import replays

    real = replays.one_replay
    monkeypatch.setattr(
        replays, "one_replay", lambda tape, specs: replayed.extend(specs) or real(tape, specs)
    )
    result = search(threshold, tmp_path, resume=True)
    tried = [trial["settings"] for trial in result["trials"]]
    assert len(set(replayed)) == len(replayed)
    assert not [spec for spec in replayed if spec != "model:ideal" and settings_of(spec) in tried]


def test_a_folder_with_a_search_is_not_overwritten(whole, threshold):
    before = (whole[1] / JOURNAL).read_bytes()
    with pytest.raises(heaptape.Error, match="has a search already: go on with --resume, or name"):
        search(threshold, whole[1])
    assert (whole[1] / JOURNAL).read_bytes() == before


@pytest.mark.parametrize(
    ("options", "other"),
    [({"seed": 7}, "seed"), ({"allocator": "jemalloc"}, "allocator and knobs")],
)
def test_another_search_does_not_go_on_in_the_folder(options, other, whole, threshold):
    with pytest.raises(heaptape.Error, match=rf"is another one \(other {other}\): repeat its"):
        search(threshold, whole[1], resume=True, **options)


def test_another_tape_does_not_go_on_in_the_folder(whole):
    with pytest.raises(heaptape.Error, match=r"is another one \(other knobs and tapes\)"):
        search(THREADS, whole[1], resume=True)


def test_there_must_be_a_search_to_go_on_with(threshold, tmp_path):
    with pytest.raises(heaptape.Error, match="there is no search in .* leave out --resume$"):
        search(threshold, tmp_path, resume=True)
    assert not (tmp_path / JOURNAL).exists()


def test_two_do_not_work_in_one_folder(threshold, tmp_path):
    journal = Journal(str(tmp_path), "{}", resume=False)
    with pytest.raises(heaptape.Error, match="another heaptape tune is at work in"):
        search(threshold, tmp_path, resume=True)
    journal.close()


def test_a_small_budget_ends_the_search(threshold, tmp_path):
    result = search(threshold, tmp_path, trials=None, budget=4.0)
    assert 1 <= len(result["trials"]) < 1000
    assert json.loads((tmp_path / "tune.json").read_text())["budgetSeconds"] == 4.0


def test_a_budget_for_nothing_is_refused(threshold, tmp_path):
    with pytest.raises(heaptape.Error, match="the budget is too small for one trial"):
        search(threshold, tmp_path, trials=None, budget=1e-6)


class Passing:
    """A clock that is told what time it is."""

    limited = True

    def __init__(self):
        self.now = 0.0

    def seconds(self):
        return self.now

    def seconds_left(self, share):
        return 100 * share - self.now


def test_pace_grants_what_fits_by_what_the_last_ones_took():
    time = Passing()
    pace = clock.Pace(time, 0.5, expected=10)
    assert pace.affordable(8) == 5
    time.now = 40  # each took 8
    assert pace.affordable(8) == 1
    time.now = 49
    assert pace.affordable(8) == 0


def test_a_failing_setting_is_a_trial_and_not_the_end(threshold, tmp_path, monkeypatch):
    from heaptape.tune import replays

    real = replays.one_replay

    def fail_some(tape, specs, *options):
        runs = real(tape, specs, *options)
        return ["it fell" if "mmap_max=0" in spec else run for spec, run in zip(specs, runs)]

    monkeypatch.setattr(replays, "one_replay", fail_some)
    result = search(threshold, tmp_path)
    failed = [trial for trial in result["trials"] if trial["error"]]
    assert all(trial["settings"]["mmap_max"] == "0" for trial in failed)
    assert failed
    assert "trials failed" in str(result["notes"])


def test_a_default_that_fails_is_an_error(threshold, tmp_path, monkeypatch):
    from heaptape.tune import replays

    monkeypatch.setattr(replays, "one_replay", lambda tape, specs: ["it fell" for _ in specs])
    with pytest.raises(heaptape.Error, match="on 'model:ptmalloc.*': it fell$"):
        search(threshold, tmp_path)


@pytest.mark.parametrize("name", ["GLIBC_TUNABLES", "MALLOC_ARENA_MAX"])
def test_settings_from_outside_are_refused(name, threshold, tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, name, "glibc.malloc.top_pad=0")
    with pytest.raises(heaptape.Error, match=f"{name} is set in the environment: unset it"):
        search(threshold, tmp_path)
