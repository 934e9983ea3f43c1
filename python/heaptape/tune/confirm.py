"""Settings on the real library: their memory there, and the times of calls.

Times are measured alone, the default and all settings in turn, so that a slow moment of the machine
hits all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from .._native import Error
from .knobs import Setting, Space
from .replays import (
    RESIDENT,
    RESIDENT_AT,
    Figures,
    Replays,
    counts,
    failure_of,
    memory_values,
    one_replay,
    ratio,
)

Key = Setting | str  # a setting of the allocator, or the label of another allocator


@dataclasses.dataclass(frozen=True)
class Time:
    """Nanoseconds for each call: the median of some repeats, the least and the greatest."""

    median: float
    least: float
    most: float

    def overlaps(self, other: Time) -> bool:
        return self.least <= other.most and other.least <= self.most

    def noise(self, other: Time) -> float:
        """How far a repeat of either is from the other's median, at most: 0.2 is 20 % of that."""
        ends = (self.least / other.median, self.most / other.median)
        own = (other.least / other.median, other.most / other.median)
        return max(abs(end - 1) for end in (*ends, *own))

    def is_slower(self, default: Time, limit: float) -> bool:
        """By more than `limit`, and beyond noise."""
        return self.least > default.median * (1 + limit) and not self.overlaps(default)


def time_json(time: Time, default: Time) -> dict[str, Any]:
    return {
        "nsPerEvent": time.median,
        "defaultNsPerEvent": default.median,
        "change": time.median / default.median - 1,
        "least": time.least / default.median - 1,
        "most": time.most / default.median - 1,
        "noise": time.noise(default),
        "withinNoise": time.overlaps(default),
    }


@dataclasses.dataclass(frozen=True)
class OnLibrary:
    """A setting, or another allocator, on one tape."""

    # As memory_values(); RESIDENT; RESIDENT_AT; counts(). Another allocator has no PEAK.
    values: dict[str, float]
    time: Time | None = None  # threads in the order of the tape
    time_free: Time | None = None  # threads at the same time, on tapes of several

    def times(self) -> dict[str, Time | None]:
        """By their names in the JSON."""
        return {"time": self.time, "timeFree": self.time_free}


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
    specs: Mapping[Key, str], tape: str, repeats: int, threads: str
) -> dict[Key, Time]:
    """The times of each. `threads`: "ordered" or "free"."""
    options = ["--repeat", str(repeats), "--threads", threads]
    found = {}
    for key, run in zip(specs, one_replay(tape, [*specs.values()], options), strict=True):
        if failure_of(run):
            continue
        assert not isinstance(run, str)
        median = float(run.get("time.nsPerEvent") or 0)
        if not median:
            continue  # a tape without calls
        least = float(run.get("time.nsPerEventMin") or median)
        found[key] = Time(median, least, float(run.get("time.nsPerEventMax") or median))
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
    resident = {name: run.get(name) for name in (RESIDENT, *RESIDENT_AT.values())}
    known = {name: float(value) for name, value in resident.items() if value is not None}
    return {**memory_values(run, peak), **counts(run), **known}
