"""`heaptape.tune.tune`: searches settings of an allocator on tapes, and writes its results."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable, Sequence
from typing import Any

from .._native import Error
from ..files import digest_of
from ..tape import Tape
from ..tool import PathLike, installed_version
from . import clock as clocks
from .analysis import importances, interactions, simplify
from .candidates import choose_points, find_slow
from .clock import Clock, Pace
from .compare import Comparison, compare, other_values, specs_to_compare
from .confirming import Confirmation, confirm
from .findings import Findings
from .front import Tried, front, points, spread_out
from .journal import Journal, load_optuna
from .knobs import ALLOCATORS, Space, allocator_of, has_model, space, variables
from .replays import MEMORY, OBJECTIVES, Replays, Trials, objective_values
from .results import as_json, write
from .search import Search

IDEAL = "model:ideal"
DEFAULT_BUDGET = 600.0
DEFAULT_REPEATS = 5
MOST_TRIALS = 1000  # where only the time is limited

_CANDIDATES = 10  # of the front, to be analyzed

Say = Callable[[str], None]


def tune(
    tapes: Sequence[PathLike],
    output: PathLike,
    *,
    allocator: str | None = None,
    engine: str | None = None,
    budget: float | None = None,
    trials: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
    repeats: int = DEFAULT_REPEATS,
    hold_out: int | None = None,
    objective: str | None = None,
    max_slowdown: float | None = None,
    resume: bool = False,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Returns the content of tune.json (docs/howto-tune.md); writes it and tune.html to `output`.

    `engine`: search on the "model" (the default, if there is one) or the "library". `budget` is in
    seconds; without it and without `trials` it is ten minutes. `repeats`: of each measurement of
    time; 0: no times are measured. `objective`: "peak", "mean" or "plateau"; without it, the one that
    the verdict on the first tape is about. `max_slowdown`: 0.03 leaves out what is slower by more.
    """
    if objective not in (None, *MEMORY):
        raise Error(f"there is no objective '{objective}': name one of {', '.join(MEMORY)}")
    if max_slowdown is not None and not repeats:
        raise Error("--max-slowdown goes by measured times: measure them with --repeat 1 or more")
    load_optuna()
    clock = Clock(DEFAULT_BUDGET if budget is None and trials is None else budget)
    tuning = _Tuning(_open_tapes(tapes), allocator, engine, jobs, clock, say)
    held = _draw_held_out(list(tuning.facts), seed, hold_out)
    searched = [path for path in tuning.facts if path not in held]
    on_searched = tuning.trials_on(searched)
    folder = _make_directory(output)
    with contextlib.closing(Journal(folder, _subject(on_searched, seed), resume=resume)) as journal:
        tried = tuning.search(Search(on_searched, journal.study, seed), on_searched, trials)
        comparisons = tuning.compare(searched)
        aim = objective or comparisons[searched[0]].objective
        found = tuning.analyze(on_searched, tried, aim)
        found.comparisons, found.max_slowdown = comparisons, max_slowdown
        found.importances = importances(journal.study)
        tuning.replay_held_out(found, held)
        found.confirmed = tuning.confirm(found, repeats)
        found.too_slow = find_slow(found)
        found.points = choose_points(found)
        found.comparisons |= tuning.compare_fast(found)
        tuning.replay_held_out(found, held)
        found.seconds = clock.seconds()
        found.seed, found.budget = seed, budget
        result = as_json(found)
        write(folder, result)
    return result


def _subject(trials: Trials, seed: int) -> str:
    """The subject of the search. A resumed search must have the same."""
    space_ = trials.space
    return json.dumps(
        {
            "allocator": [space_.allocator, space_.engine, trials.cores],
            "knobs": [[knob.name, *knob.values] for knob in space_.knobs],
            "objectives": OBJECTIVES,
            "seed": seed,
            "tapes": [digest_of(path) for path in trials.tapes],
        }
    )


class _Tuning:
    """The parts of a tuning, and what they share."""

    def __init__(
        self,
        facts: dict[str, dict[str, Any]],
        allocator: str | None,
        engine: str | None,
        jobs: int | None,
        clock: Clock,
        say: Say,
    ) -> None:
        self.facts = facts  # by tape
        self._space = _space(allocator, engine, facts)
        self._cores = os.cpu_count() or 1
        self._jobs = jobs or self._cores
        self._replays = Replays(self._jobs)
        self._clock = clock
        self._say = say

    def trials_on(self, tapes: list[str]) -> Trials:
        return Trials(self._space, tapes, self._replays, self._cores)

    def compare(self, tapes: list[str]) -> dict[str, Comparison]:
        self._say("all allocators: what another one would do")
        specs = specs_to_compare(self._space)
        return {tape: compare(tape, specs, self._jobs) for tape in tapes}

    def compare_fast(self, found: Findings) -> dict[str, Comparison]:
        """Again, where the verdict names an allocator that is too slow: without those."""
        specs = [spec for spec in specs_to_compare(self._space) if spec not in found.too_slow]
        return {
            tape: compare(tape, specs, self._jobs)
            for tape, comparison in found.comparisons.items()
            if any(finding.get("allocator") in found.too_slow for finding in comparison.findings)
        }

    def search(self, search: Search, trials: Trials, most: int | None) -> list[Tried]:
        before = self._clock.seconds()
        trials.base()
        pace = Pace(self._clock, clocks.SEARCH, self._clock.seconds() - before)

        def report(tried: list[Tried]) -> None:
            self._say(f"search: {len(tried)} trials, {len(front(tried))} on the front")

        tried = search.run(most or MOST_TRIALS, pace.affordable, report)
        if not tried:
            raise Error(
                "the budget is too small for one trial: give more time with --budget, and --resume"
            )
        return tried

    def analyze(self, trials: Trials, tried: list[Tried], objective: str) -> Findings:
        """The front, and its settings without needless knobs."""
        best = front(tried)
        chosen = [*points(best, objective).values(), *spread_out(best, _CANDIDATES)]
        candidates: dict[Any, Tried] = {}
        self._say("analysis: drops needless knobs")
        for trial in dict.fromkeys(chosen):
            setting = simplify(trials, trial.setting, self._has_time_to_analyze)
            outcome = trials.outcomes([setting])[0]
            candidates.setdefault(
                setting, Tried(trial.index, setting, trials.ratios(outcome), outcome.values)
            )
        kept = front(list(candidates.values()))
        named = points(kept, objective)
        acting = {}
        for point in dict.fromkeys(named.values()):
            if self._has_time_to_analyze():
                acting[point.setting] = interactions(trials, point.setting)
        return Findings(
            space=trials.space,
            searched=trials.tapes,
            base=trials.base(),
            tried=tried,
            front=best,
            candidates=kept,
            points=named,
            objective=objective,
            installed=installed_version(trials.space.allocator),
            interactions=acting,
            facts=self.facts,
            ideal=self._ideal(),
        )

    def replay_held_out(self, found: Findings, held: list[str]) -> None:
        found.held_out = held
        if not held or self._clock.seconds_left(clocks.HOLD_OUT) <= 0:
            return
        number = len(held)
        self._say(f"hold-out: the points of interest on {number} tapes that were not searched on")
        trials = self.trials_on(held)
        found.held_out_base = trials.base()
        named = dict.fromkeys(point.setting for point in found.points.values())
        settings = [setting for setting in named if setting not in found.held_out_values]
        for outcome in trials.outcomes(settings):
            if not outcome.error:
                found.held_out_values[outcome.setting] = outcome.values

    def confirm(self, found: Findings, repeats: int) -> Confirmation:
        named = [point.setting for point in found.points.values()]
        others = [candidate.setting for candidate in found.candidates]
        settings = list(dict.fromkeys([self._space.default, *named, *others]))
        facts = {tape: self.facts[tape] for tape in found.searched}
        compared = {
            (tape, label): other_values(run)
            for tape, comparison in found.comparisons.items()
            for label, run in comparison.runs.items()
            if label != self._space.allocator
        }
        return confirm(
            self._space, settings, compared, facts, self._replays, repeats, self._clock, self._say
        )

    def _has_time_to_analyze(self) -> bool:
        return self._clock.seconds_left(clocks.ANALYSIS) > 0

    def _ideal(self) -> dict[str, dict[str, float]]:
        runs = self._replays.figures(self.facts, [IDEAL])
        # In model:ideal all committed memory is resident.
        return {
            tape: objective_values(run, "peak.committedBytes", {"call": 0, "page": 0})
            for (tape, _), run in runs.items()
            if not isinstance(run, str)
        }


def _make_directory(output: PathLike) -> str:
    folder = os.fspath(output)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise Error(f"cannot make the directory '{folder}': {error.strerror}") from None
    return folder


def _open_tapes(tapes: Sequence[PathLike]) -> dict[str, dict[str, Any]]:
    """The facts of each, in order."""
    if not tapes:
        raise Error("no tape is given: name one or more")
    facts: dict[str, dict[str, Any]] = {}
    for path in [os.fspath(tape) for tape in tapes]:
        if path in facts:
            raise Error(f"'{path}' is given twice")
        facts[path] = Tape(path).facts
    return facts


def _space(allocator: str | None, engine: str | None, facts: dict[str, dict[str, Any]]) -> Space:
    if allocator is None:
        allocator = allocator_of(next(iter(facts.values())))
    if allocator not in ALLOCATORS:
        raise Error(f"there are no settings for '{allocator}': name one of {', '.join(ALLOCATORS)}")
    if engine is None:
        engine = "model" if has_model(allocator) else "library"
    if engine == "model" and not has_model(allocator):
        raise Error(f"there is no model of {allocator}: search on the library itself")
    for name in variables(allocator):  # would affect every replay on the library
        if name in os.environ:
            raise Error(
                f"{name} is set in the environment: unset it, or the default is not the default"
            )
    threads = any(each["threads"] > 1 for each in facts.values())
    return space(allocator, engine, threads=threads, version=installed_version(allocator))


def _draw_held_out(paths: list[str], seed: int, wanted: int | None) -> list[str]:
    """A third of several tapes, drawn with the seed."""
    number = len(paths) // 3 or min(1, len(paths) - 1) if wanted is None else wanted
    if number >= len(paths):
        raise Error(f"{number} of {len(paths)} tapes cannot be held out: leave one to search on")
    chosen = set(random.Random(seed).sample(sorted(paths), number))
    return [path for path in paths if path in chosen]
