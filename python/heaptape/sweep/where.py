"""Whether one fact separates the tapes on which a candidate is best from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .grid import Grid
from .rows import METADATA

_LEAST_TAPES = 5  # on either side: fewer say nothing
_LEAST_DIFFERENCE = 0.6  # of the shares of tapes on which it is best
_LIVE = "peak.liveBytes"


def telling_fact(grid: Grid, tapes: Sequence[int], won: set[int]) -> dict[str, Any] | None:
    """The fact whose two sides differ most, or None if no fact separates them.

    `best` of `of` tapes on the side with more than `above`, or with the value `is`; `bestElsewhere`
    of `ofElsewhere` on the other one. A guide, not a test: among many facts some separate them by
    chance.
    """
    splits = [
        split
        for name, values in _facts(grid, tapes)
        for split in _splits(name, values, won)
        if _difference(split) >= _LEAST_DIFFERENCE
    ]
    return max(splits, key=_difference, default=None)


def _difference(split: dict[str, Any]) -> float:
    here = split["best"] / split["of"]
    elsewhere = split["bestElsewhere"] / split["ofElsewhere"]
    return float(abs(here - elsewhere))


def _facts(grid: Grid, tapes: Sequence[int]) -> Iterator[tuple[str, list[tuple[Any, int]]]]:
    """Each fact with its value on each tape that has it."""
    live = [(_first(row[t] for row in grid.figures.get(_LIVE, [])), t) for t in tapes]
    yield _LIVE, [(value, t) for value, t in live if value is not None]
    names = dict.fromkeys(name for t in tapes for name in grid.tapes[t])
    for name in names:
        if name in ("tape.threads", "tape.events", "tape.allocator") or name.startswith(METADATA):
            found = [(grid.tapes[t].get(name), t) for t in tapes]
            yield name, [(value, t) for value, t in found if value is not None]


def _first(values: Iterator[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _splits(name: str, values: list[tuple[Any, int]], won: set[int]) -> Iterator[dict[str, Any]]:
    wins = sum(t in won for _, t in values)
    if values and isinstance(values[0][0], str):
        counts = Counter(value for value, _ in values)
        best = Counter(value for value, t in values if t in won)
        for value, count in counts.items():
            yield from _split(name, {"is": value}, best[value], count, wins, len(values))
        return
    yield from _best_cut(name, sorted(values), won, wins)


def _best_cut(
    name: str, values: list[tuple[Any, int]], won: set[int], wins: int
) -> Iterator[dict[str, Any]]:
    """The cut between two different values whose sides differ most."""
    best = (-1.0, 0, 0)  # the difference, the place of the cut, wins below it
    below = 0
    for i, (value, t) in enumerate(values[:-1], 1):
        below += t in won
        above = len(values) - i
        if min(i, above) >= _LEAST_TAPES and value != values[i][0]:
            best = max(best, (abs((wins - below) / above - below / i), -i, below))
    _, place, below = best
    if place:
        cut, of = values[-place - 1][0], len(values) + place
        yield from _split(name, {"above": cut}, wins - below, of, wins, len(values))


def _split(
    name: str, side: dict[str, Any], best: int, of: int, all_best: int, of_all: int
) -> Iterator[dict[str, Any]]:
    if min(of, of_all - of) >= _LEAST_TAPES:
        yield {
            "fact": name,
            **side,
            "best": best,
            "of": of,
            "bestElsewhere": all_best - best,
            "ofElsewhere": of_all - of,
        }
