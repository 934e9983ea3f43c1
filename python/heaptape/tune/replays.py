"""Replays of settings on tapes, several at once, and each only once."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from .._native import MEAN_RESIDENT, Error
from ..run_figures import Figure, figures
from ..tape import Tape
from ..tool import replay
from .knobs import Setting, Space

PEAK, MEAN, PLATEAU, WORK = "peak", "mean", "plateau", "work"
OBJECTIVES = (PEAK, MEAN, PLATEAU, WORK)
MEMORY = (PEAK, MEAN, PLATEAU)
RESIDENT = "peak.residentBytes"
# Resident bytes at the moments of verdicts.
RESIDENT_AT = {
    moment: f"at{moment.capitalize()}.residentBytes" for moment in ("peak", "plateau", "exit")
}
FAULTS, CALLS = "counters.pageFaults", "counters.memoryCalls"

RISEN = "risen pages"
# Enough points on the timeline to see most pages come and go, within bounds.
_CALLS_PER_SAMPLE = 32
_LEAST_SAMPLES, _MOST_SAMPLES = 1024, 4096

Figures = dict[str, Figure]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The values of a setting on each tape, or why it failed on one."""

    setting: Setting
    values: tuple[dict[str, float], ...]  # by objective, a tape each
    error: str | None = None


class Replays:
    """Runs at most `jobs` replays at the same time. Keeps their figures."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._seen: dict[tuple[str, str], Figures | str] = {}

    def figures(
        self, tapes: Iterable[str], specs: Iterable[str]
    ) -> dict[tuple[str, str], Figures | str]:
        """For each tape with each spec, the run's figures, or one sentence why it failed."""
        specs = list(dict.fromkeys(specs))
        wanted = {(tape, spec) for tape in dict.fromkeys(tapes) for spec in specs}
        missing = sorted(wanted - self._seen.keys())
        tasks: list[tuple[str, list[str]]] = []
        for tape, pairs in itertools.groupby(missing, key=lambda pair: pair[0]):
            new = [spec for _, spec in pairs]
            size = math.ceil(len(new) / self._jobs)
            tasks += [(tape, new[i : i + size]) for i in range(0, len(new), size)]
        with concurrent.futures.ThreadPoolExecutor(self._jobs) as pool:
            found = list(pool.map(lambda task: one_replay(*task), tasks))
        for (tape, some), runs in zip(tasks, found, strict=True):
            self._seen.update({(tape, spec): run for spec, run in zip(some, runs, strict=True)})
        return {pair: self._seen[pair] for pair in wanted}


def one_replay(
    tape: str, specs: Sequence[str], options: Sequence[str] | None = None
) -> list[Figures | str]:
    """The run of each spec. Without options, its timeline has enough points for the search."""
    options = ["--samples", str(_samples(tape))] if options is None else options
    labelled = [f"{i}={spec}" for i, spec in enumerate(specs)]
    found: list[Figures | str] = []
    for run in replay(tape, labelled, options=options).json["runs"]:
        failure = (run.get("failure") or {}).get("text")
        found.append(failure or {**figures(run), RISEN: risen_pages(run)})
    return found


@functools.cache
def _samples(tape: str) -> int:
    calls: int = Tape(tape).facts["events"]
    return min(_MOST_SAMPLES, max(_LEAST_SAMPLES, calls // _CALLS_PER_SAMPLE))


def risen_pages(run: dict[str, Any]) -> int:
    """Pages that became resident between samples: page faults whose pages were not given back."""
    resident = [int(value) for value in run.get("timeline", {}).get("residentBytes", [])]
    rises = (max(0, after - before) for before, after in itertools.pairwise([0, *resident]))
    return sum(rises) // 4096


class Trials:
    """Values of the objectives, by setting, on some tapes."""

    def __init__(self, space: Space, tapes: Sequence[str], replays: Replays, cores: int) -> None:
        self.space = space
        self.tapes = list(tapes)
        self.cores = cores
        self._replays = replays
        self._known: dict[Setting, Outcome] = {}

    def base(self) -> tuple[dict[str, float], ...]:
        """The values of the default settings. Raises Error if they cannot be replayed."""
        outcome = self.outcomes([self.space.default])[0]
        if outcome.error:
            raise Error(outcome.error)
        return outcome.values

    def know(self, outcome: Outcome) -> None:
        """Adds an outcome of an earlier search."""
        self._known.setdefault(outcome.setting, outcome)

    def outcomes(self, settings: Sequence[Setting]) -> list[Outcome]:
        new = [setting for setting in settings if setting not in self._known]
        specs = {setting: self.space.spec(setting, self.cores) for setting in new}
        found = self._replays.figures(self.tapes, specs.values())
        for setting, spec in specs.items():
            self._known[setting] = self._outcome(setting, spec, found)
        return [self._known[setting] for setting in settings]

    def ratios(self, outcome: Outcome) -> dict[str, float]:
        """Ratios to the default: the geometric mean over the tapes, by objective."""
        each = [ratios(*pair) for pair in zip(outcome.values, self.base(), strict=True)]
        return {name: geometric_mean([one[name] for one in each]) for name in OBJECTIVES}

    def _outcome(
        self, setting: Setting, spec: str, found: dict[tuple[str, str], Figures | str]
    ) -> Outcome:
        values = []
        for tape in self.tapes:
            run = found[tape, spec]
            error = failure_of(run)
            if error:
                return Outcome(setting, (), f"'{tape}' on '{spec}': {error}")
            assert not isinstance(run, str)
            values.append(objective_values(run, self.space.peak, self.space.work))
        return Outcome(setting, tuple(values))


def failure_of(run: Figures | str) -> str | None:
    if isinstance(run, str):
        return run
    refused = run.get("accounting.refused") or 0
    return f"{refused:,} allocations were refused" if refused else None


def objective_values(run: Figures, peak: str, work: dict[str, float]) -> dict[str, float]:
    calls = run.get("accounting.replayed") or 0
    faults = run.get("counters.pageFaults")
    work_ns = sum(
        cost * (run.get(f"counters.{name}") or 0)
        for name, cost in work.items()
        if name not in ("call", "page")
    )
    pages = faults or run.get(RISEN) or 0
    return {
        **memory_values(run, peak),
        WORK: work["call"] * calls + work["page"] * pages + work_ns,
    }


def memory_values(run: Figures, peak: str) -> dict[str, float]:
    return {
        PEAK: float(run.get(peak) or 0),
        MEAN: float(run.get(MEAN_RESIDENT) or 0),
        PLATEAU: plateau_bytes(run),
    }


def counts(run: Figures) -> dict[str, float]:
    """Page faults and system calls for memory, if the run has them."""
    found = {name: run.get(name) for name in (FAULTS, CALLS)}
    return {name: float(value) for name, value in found.items() if value is not None}


def plateau_bytes(run: Figures) -> float:
    """Resident bytes at the plateau; at the exit, if there is none, as in the table of a replay."""
    return float(run.get(f"{plateau_moment(run)}.residentBytes") or 0)


def plateau_moment(run: Figures) -> str:
    """Its name in reports."""
    moments = ("atPlateau", "atExit")
    return next((each for each in moments if run.get(f"{each}.residentBytes") is not None), "end")


def ratios(values: dict[str, float], base: dict[str, float]) -> dict[str, float]:
    return {name: ratio(values[name], base[name]) for name in base if name in values}


def ratio(value: float, base: float) -> float:
    return value / base if base else 1.0


def geometric_mean(values: Sequence[float]) -> float:
    if any(value <= 0 for value in values):
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))
