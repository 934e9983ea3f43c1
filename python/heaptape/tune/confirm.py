"""Settings on the real library: their memory there, and the times of calls.

Times are measured alone, the default and all settings in turn, so that a slow moment of the machine
hits all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .._native import MEAN_RESIDENT, Error
from .knobs import Setting, Space
from .replays import MEAN, PEAK, Figures, Replays, failure_of, one_replay, ratio

FAULTS, CALLS = "counters.pageFaults", "counters.memoryCalls"


@dataclasses.dataclass(frozen=True)
class Time:
    """Nanoseconds for each call: the median of some repeats, the least and the greatest."""

    median: float
    least: float
    most: float

    def overlaps(self, other: Time) -> bool:
        return self.least <= other.most and other.least <= self.most


@dataclasses.dataclass(frozen=True)
class OnLibrary:
    """A setting on one tape."""

    values: dict[str, float]  # PEAK and MEAN; FAULTS and CALLS if they are counted
    time: Time | None = None  # threads in the order of the tape
    time_free: Time | None = None  # threads at the same time, on tapes of several


def library_values(
    space: Space, settings: Sequence[Setting], tapes: Sequence[str], replays: Replays
) -> dict[tuple[str, Setting], dict[str, float]]:
    """Without settings that failed there."""
    specs = {setting: space.spec(setting, 0, "library") for setting in settings}
    found = replays.figures(tapes, specs.values())
    values = {}
    for tape in tapes:
        for setting, spec in specs.items():
            run = found[tape, spec]
            if not failure_of(run):
                assert not isinstance(run, str)
                values[tape, setting] = _values(run, space.peak)
    return values


def measure_times(
    space: Space, settings: Sequence[Setting], tape: str, repeats: int, threads: str
) -> dict[Setting, Time]:
    """The times of each setting. `threads`: "ordered" or "free"."""
    specs = [space.spec(setting, 0, "library") for setting in settings]
    options = ["--repeat", str(repeats), "--threads", threads]
    found = {}
    for setting, run in zip(settings, one_replay(tape, specs, options), strict=True):
        if failure_of(run):
            continue
        assert not isinstance(run, str)
        median = float(run.get("time.nsPerEvent") or 0)
        least = float(run.get("time.nsPerEventMin") or median)
        found[setting] = Time(median, least, float(run.get("time.nsPerEventMax") or median))
    return found


def library_error(space: Space, tape: str) -> str | None:
    """Why there can be no replay on the library: one sentence. None: there can."""
    try:
        run = one_replay(tape, [space.spec_of["library"]], ["--to", "1"])[0]
    except Error as error:
        return str(error)
    return failure_of(run)


def change(values: dict[str, float], base: dict[str, float]) -> dict[str, float]:
    """Ratios to the default, by objective."""
    return {name: ratio(values[name], base[name]) for name in values if name in base}


def _values(run: Figures, peak: str) -> dict[str, float]:
    values = {PEAK: run.get(peak), MEAN: run.get(MEAN_RESIDENT)}
    counted = {name: run.get(name) for name in (FAULTS, CALLS)}
    return {
        name: float(value) for name, value in {**values, **counted}.items() if value is not None
    }
