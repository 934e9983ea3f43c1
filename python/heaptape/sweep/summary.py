"""The comparison of candidates: distributions over tapes, ratios, and the best of each tape.

The result is plain data, the `summary` of sweep.json: the text for the terminal and the page are
made from it, so all three have the same numbers. docs/metrics.md defines them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .._native import MEAN_RESIDENT, metric_unit
from ..run_figures import Figure
from .grid import Grid
from .quantiles import quantile
from .where import telling_fact

_METRICS = (
    "peak.committedBytes",
    "peak.residentBytes",
    MEAN_RESIDENT,
    "time.nsPerEvent",
    "peak.fragmentation",
    "peak.distanceToIdeal",
)
# These decide which candidate is best on a tape. The others follow from them, or may be 0 or less.
DECIDING = ("peak.committedBytes", "peak.residentBytes", MEAN_RESIDENT, "time.nsPerEvent")
_TIME = "time.nsPerEvent"
_MOST_NAMED = 5

# Not allocators to choose from: models of bounds cannot be beaten, and the recorded run's resident
# bytes are those of a whole process.
_NO_CHOICE = {"recorded", "noop", "model:ideal", "model:foresight"}


def summary_of(grid: Grid, baseline: str | None = None) -> dict[str, Any]:
    """`baseline`: the label of the candidate in the denominator of ratios; None: the first one."""
    labels = grid.labels
    base = labels.index(baseline) if baseline is not None else 0
    metrics = [_metric(grid, metric, base) for metric in _METRICS]
    return {
        "baseline": labels[base] if labels else None,
        "metrics": [metric for metric in metrics if metric is not None],
        "best": {metric: _best_by_tape(grid, metric) for metric in DECIDING},
    }


def is_choice(spec: str) -> bool:
    return _kind(spec) not in _NO_CHOICE


def _kind(spec: str) -> str:
    return ":".join(spec.split(" ")[0].split(":")[:2])


def _says(spec: str, metric: str) -> bool:
    """Whether the figure describes an allocator: a model's time is that of the model."""
    if metric == _TIME:
        return not spec.startswith("model:") and spec != "recorded"
    return spec != "noop"


def values_of(grid: Grid, metric: str, candidate: int) -> list[Figure]:
    if not _says(grid.candidates[candidate].spec, metric):
        return [None] * len(grid.tapes)
    return grid.row(metric, candidate)


def ratio(value: Figure, base: Figure) -> float | None:
    """None: one is missing, or only the base is 0."""
    if value is None or base is None:
        return None
    if base == 0:
        return 1.0 if value == 0 else None
    return value / base


def ratios_of(grid: Grid, metric: str, base: int) -> list[list[float | None]]:
    """By candidate and tape, to the figure of the candidate `base` on the same tape."""
    of = values_of(grid, metric, base)
    return [
        [ratio(value, below) for value, below in zip(values_of(grid, metric, i), of, strict=True)]
        for i in range(len(grid.candidates))
    ]


def _metric(grid: Grid, metric: str, base: int) -> dict[str, Any] | None:
    rows = [values_of(grid, metric, i) for i in range(len(grid.candidates))]
    if all(value is None for row in rows for value in row):
        return None
    names = [tape["tape"] for tape in grid.tapes]
    ratios = ratios_of(grid, metric, base) if metric in DECIDING else None
    candidates: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        failed = len(grid.errors[i])
        found = {
            "candidate": grid.labels[i],
            "failed": failed,
            **_distribution(row, names),
        }
        found["lacking"] = len(row) - failed - found["tapes"]
        found["ratio"] = _distribution(ratios[i], names) if ratios is not None else None
        candidates.append(found)
    compared = _compare(grid, rows, candidates) if metric in DECIDING else None
    return {
        "metric": metric,
        "unit": metric_unit(metric),
        "candidates": candidates,
        "compared": compared,
    }


def _distribution(values: Sequence[Figure], names: Sequence[str]) -> dict[str, Any]:
    """The distribution of values other than None; `least` and `worst` name their first tapes."""
    ranked = sorted((value, i) for i, value in enumerate(values) if value is not None)
    if not ranked:
        return {"tapes": 0, "p10": None, "median": None, "p90": None, "least": None, "worst": None}
    plain = [value for value, _ in ranked]
    worst = next(i for value, i in ranked if value == plain[-1])
    return {
        "tapes": len(plain),
        "p10": quantile(plain, 10),
        "median": quantile(plain, 50),
        "p90": quantile(plain, 90),
        "least": {"value": plain[0], "tape": names[ranked[0][1]]},
        "worst": {"value": plain[-1], "tape": names[worst]},
    }


def _rivals(grid: Grid, rows: Sequence[Sequence[Figure]]) -> list[int]:
    """Candidates that can be best: allocators that have the figure on some tape."""
    return [
        i
        for i, row in enumerate(rows)
        if is_choice(grid.candidates[i].spec) and any(value is not None for value in row)
    ]


@dataclasses.dataclass(frozen=True)
class _Contest:
    """The rivals' figures on one tape, on which at least two of them have one."""

    values: dict[int, float]  # by candidate
    least: float
    second: float  # the least without one that has the least
    greatest: float

    def best(self) -> list[int]:
        return [i for i, value in self.values.items() if value == self.least]

    def of_best_other(self, candidate: int) -> float | None:
        value = self.values[candidate]
        return ratio(value, self.second if value == self.least else self.least)


def _contests(grid: Grid, rows: Sequence[Sequence[Figure]]) -> dict[int, _Contest]:
    """By tape, for the tapes on which there is a choice."""
    rivals = _rivals(grid, rows)
    found = {}
    for t in range(len(grid.tapes)):
        values = {i: value for i in rivals if (value := rows[i][t]) is not None}
        if len(values) > 1:
            ranked = sorted(values.values())
            found[t] = _Contest(values, ranked[0], ranked[1], ranked[-1])
    return found


def _best_by_tape(grid: Grid, metric: str) -> list[list[str]]:
    rows = [values_of(grid, metric, i) for i in range(len(grid.candidates))]
    contests = _contests(grid, rows)
    return [
        [grid.labels[i] for i in contests[t].best()] if t in contests else []
        for t in range(len(grid.tapes))
    ]


def _compare(
    grid: Grid, rows: list[list[Figure]], candidates: list[dict[str, Any]]
) -> dict[str, int]:
    """Adds to each candidate on how many tapes it is best and worst, and where it wins and loses.

    Returns how many tapes were compared, and on how many of these a rival has no figure.
    """
    contests = _contests(grid, rows)
    rivals = _rivals(grid, rows)
    for i in rivals:
        mine = {t: contest for t, contest in contests.items() if i in contest.values}
        won = {t: contest.best() for t, contest in mine.items() if rows[i][t] == contest.least}
        candidates[i] |= {
            "bestOn": sum(len(best) == 1 for best in won.values()),
            "tiedOn": sum(len(best) > 1 for best in won.values()),
            "worstOn": sum(c.values[i] == c.greatest > c.least for c in mine.values()),
            **_wins_and_losses(grid, mine, i),
            "where": telling_fact(grid, list(mine), set(won)),
        }
    gaps = sum(len(contest.values) < len(rivals) for contest in contests.values())
    return {"tapes": len(contests), "incomplete": gaps}


def _wins_and_losses(grid: Grid, contests: dict[int, _Contest], candidate: int) -> dict[str, Any]:
    """The tapes on which it is furthest below and above the best of the others."""
    shares = ((contest.of_best_other(candidate), t) for t, contest in contests.items())
    found = sorted((share, t) for share, t in shares if share is not None and share != 1)
    wins = [pair for pair in found[:_MOST_NAMED] if pair[0] < 1]
    losses = [pair for pair in found[: -_MOST_NAMED - 1 : -1] if pair[0] > 1]
    return {
        name: [{"tape": grid.tapes[t]["tape"], "ofBestOther": share} for share, t in pairs]
        for name, pairs in (("wins", wins), ("losses", losses))
    }
