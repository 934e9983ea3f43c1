"""The settings found, on the real library: as many as time allows, points of interest first."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import clock as clocks
from .clock import Clock, Pace
from .confirm import Key, OnLibrary, library_error, library_values, measure_times
from .knobs import Setting, Space
from .replays import Replays, one_replay

_AT_ONCE = 4  # settings, between looks at the clock
_PART = 16  # of a tape, to see how long all of it takes


@dataclasses.dataclass
class Confirmation:
    """`found` includes the default and other allocators. If it is empty, `error` says why."""

    found: dict[tuple[str, Key], OnLibrary]  # by tape
    error: str | None = None
    repeats: int = 0  # of each measurement of time; 0: none was made
    left_out: int = 0  # settings skipped for lack of time


def confirm(
    space: Space,
    settings: Sequence[Setting],
    others: Mapping[tuple[str, str], dict[str, float]],
    facts: Mapping[str, Mapping[str, Any]],
    replays: Replays,
    repeats: int,
    clock: Clock,
    say: Callable[[str], None],
) -> Confirmation:
    """`settings` begin with the default. `facts` are those of each tape.

    `others`: other allocators, by tape and label, which lack only times.
    """
    tapes = list(facts)
    several = {tape for tape in tapes if facts[tape]["threads"] > 1}
    other_found: dict[tuple[str, Key], OnLibrary] = {key: OnLibrary(value) for key, value in others.items()}
    error = library_error(space, tapes[0])
    if error:
        return Confirmation(other_found, error)
    say(f"confirmation: {len(settings)} settings on the real {space.allocator}")
    begin = clock.seconds()
    values = {}
    done: list[Setting] = []
    expected = _estimate_seconds(space, facts) if clock.limited else 0
    pace = Pace(clock, (clocks.HOLD_OUT + clocks.CONFIRM) / 2, expected)
    while len(done) < len(settings):
        room = pace.affordable(min(_AT_ONCE, len(settings) - len(done)))
        if room <= 0:
            break
        some = list(settings[len(done) : len(done) + room])
        values.update(library_values(space, some, tapes, replays))
        done += some
    if not done:
        return Confirmation(other_found, "the budget left no time for it", left_out=len(settings))
    found: dict[tuple[str, Key], OnLibrary] = {
        **{key: OnLibrary(value) for key, value in values.items()},
        **other_found,
    }
    taken = (clock.seconds() - begin) * (1 + len({label for _, label in others}) / len(done))
    rounds = _rounds(taken, 1 + bool(several), repeats, clock)
    if rounds:
        specs: dict[Key, str] = {key: space.spec(key, 0, "library") for key in done}
        specs |= {label: label for _, label in others}
        _add_times(specs, tapes, several, rounds, found, clock, say)
    return Confirmation(found, None, rounds, len(settings) - len(done))


def _estimate_seconds(space: Space, facts: Mapping[str, Mapping[str, Any]]) -> float:
    """Seconds for one setting, from replays of a part of each tape."""
    begin = time.monotonic()
    for tape, of in facts.items():
        part = max(1, of["events"] // _PART)
        one_replay(tape, [space.spec_of["library"]], ["--to", str(part)])
    return (time.monotonic() - begin) * _PART


def _rounds(taken: float, ways: int, repeats: int, clock: Clock) -> int:
    """The repeats that time allows, if one takes as long as the earlier replays."""
    if not clock.limited:
        return repeats
    return min(repeats, int(clock.seconds_left(clocks.CONFIRM) / max(taken * ways, 1e-6)))


def _add_times(
    specs: Mapping[Key, str],
    tapes: Sequence[str],
    several: set[str],
    rounds: int,
    found: dict[tuple[str, Key], OnLibrary],
    clock: Clock,
    say: Callable[[str], None],
) -> None:
    for tape in tapes:
        say(f"times: {len(specs)} settings, {rounds} times each, one after the other")
        for threads in ("ordered", "free") if tape in several else ("ordered",):
            if clock.seconds_left(clocks.CONFIRM) <= 0:
                return
            for key, taken in measure_times(specs, tape, rounds, threads).items():
                known = found.get((tape, key))
                if known is None:
                    continue
                if threads == "free":
                    found[tape, key] = dataclasses.replace(known, time_free=taken)
                else:
                    found[tape, key] = dataclasses.replace(known, time=taken)
