"""What a sweep says of its candidates: distributions over tapes, ratios, who is best where.

The result is plain data, that of `summary` in sweep.json: the text for the terminal and the page
are made of it, so all three have the same numbers. docs/metrics.md defines them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..run_figures import MEAN_RESIDENT
from .grid import Grid, Value
from .quantiles import quantile
from .where import telling_fact

UNITS = {
    "peak.committedBytes": "bytes",
    "peak.residentBytes": "bytes",
    MEAN_RESIDENT: "bytes",
    "time.nsPerEvent": "ns",
    "peak.fragmentation": "ratio",
    "peak.distanceToIdeal": "ratio",
}
# By these a candidate is best on a tape. The others follow from them, or may be 0 or less.
DECIDING = ("peak.committedBytes", "peak.residentBytes", MEAN_RESIDENT, "time.nsPerEvent")
_TIME = "time.nsPerEvent"
_MOST_NAMED = 5

# What is no allocator to choose: no model of a bound is beaten, and the recorded run's resident
# bytes are those of a whole process.
_NO_CHOICE = {"recorded", "noop", "model:ideal", "model:foresight"}


def summary_of(grid: Grid, baseline: str | None = None) -> dict[str, Any]:
    """`baseline`: the label of the candidate that ratios are of; None: the first one."""
    labels = grid.labels
    base = labels.index(baseline) if baseline is not None else 0
    metrics = [_metric(grid, metric, base) for metric in UNITS]
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
    """Whether the figure is one of an allocator: a model's time is that of the model."""
    if metric == _TIME:
        return not spec.startswith("model:") and spec != "recorded"
    return spec != "noop"


def values_of(grid: Grid, metric: str, candidate: int) -> list[Value]:
    if not _says(grid.candidates[candidate].spec, metric):
        return [None] * len(grid.tapes)
    return grid.row(metric, candidate)


def ratio(value: Value, base: Value) -> float | None:
    """None: one is missing, or there was nothing to grow from."""
    if value is None or base is None:
        return None
    if base == 0:
        return 1.0 if value == 0 else None
    return value / base


def _metric(grid: Grid, metric: str, base: int) -> dict[str, Any] | None:
    rows = [values_of(grid, metric, i) for i in range(len(grid.candidates))]
    if all(value is None for row in rows for value in row):
        return None
    names = [tape["tape"] for tape in grid.tapes]
    candidates: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        failed = len(grid.errors[i])
        found = {
            "candidate": grid.labels[i],
            "failed": failed,
            **_distribution(row, names),
        }
        found["lacking"] = len(row) - failed - found["tapes"]
        found["ratio"] = None
        if metric in DECIDING:
            ratios = [ratio(value, of) for value, of in zip(row, rows[base], strict=True)]
            found["ratio"] = _distribution(ratios, names)
        candidates.append(found)
    compared = _compare(grid, metric, rows, candidates) if metric in DECIDING else None
    return {
        "metric": metric,
        "unit": UNITS[metric],
        "candidates": candidates,
        "compared": compared,
    }


def _distribution(values: Sequence[Value], names: Sequence[str]) -> dict[str, Any]:
    """Of those that are not None; `least` and `worst` with the first tape that has them."""
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


def _rivals(grid: Grid, rows: Sequence[Sequence[Value]]) -> list[int]:
    """Candidates that can be best: allocators that have the figure on some tape."""
    return [
        i
        for i, row in enumerate(rows)
        if is_choice(grid.candidates[i].spec) and any(value is not None for value in row)
    ]


def _best(rows: Sequence[Sequence[Value]], rivals: Sequence[int], tape: int) -> list[int]:
    """Several, if they tie. None where fewer than two have the figure: there is no choice."""
    found = [(value, i) for i in rivals if (value := rows[i][tape]) is not None]
    if len(found) < 2:
        return []
    least = min(value for value, _ in found)
    return [i for value, i in found if value == least]


def _best_by_tape(grid: Grid, metric: str) -> list[list[str]]:
    rows = [values_of(grid, metric, i) for i in range(len(grid.candidates))]
    rivals = _rivals(grid, rows)
    return [[grid.labels[i] for i in _best(rows, rivals, t)] for t in range(len(grid.tapes))]


def _compare(
    grid: Grid, metric: str, rows: list[list[Value]], candidates: list[dict[str, Any]]
) -> dict[str, int]:
    """Adds to each candidate on how many tapes it is best and worst, and where it wins and loses.

    How many tapes were compared, and on how many of these a rival has no figure.
    """
    rivals = _rivals(grid, rows)
    best = {t: winners for t in range(len(grid.tapes)) if (winners := _best(rows, rivals, t))}
    for i in rivals:
        mine = [t for t in best if rows[i][t] is not None]
        won = [t for t in mine if i in best[t]]
        candidates[i] |= {
            "bestOn": sum(len(best[t]) == 1 for t in won),
            "tiedOn": sum(len(best[t]) > 1 for t in won),
            "worstOn": _worst_on(rows, rivals, mine, i),
            **_wins_and_losses(grid, rows, rivals, mine, i),
            "where": telling_fact(grid, mine, set(won)),
        }
    gaps = sum(any(rows[i][t] is None for i in rivals) for t in best)
    return {"tapes": len(best), "incomplete": gaps}


def _worst_on(
    rows: list[list[Value]], rivals: Sequence[int], tapes: Sequence[int], candidate: int
) -> int:
    """How many tapes on which no rival has more, and some have less."""
    count = 0
    for t in tapes:
        values = [value for i in rivals if (value := rows[i][t]) is not None]
        count += rows[candidate][t] == max(values) > min(values)
    return count


def _wins_and_losses(
    grid: Grid, rows: list[list[Value]], rivals: Sequence[int], tapes: Sequence[int], candidate: int
) -> dict[str, Any]:
    """The tapes on which it is furthest below and above the best of the others."""
    found = []
    for t in tapes:
        others = [value for i in rivals if i != candidate and (value := rows[i][t]) is not None]
        of_best = ratio(rows[candidate][t], min(others))
        if of_best is not None and of_best != 1:
            found.append((of_best, t))
    found.sort(key=lambda pair: (pair[0], pair[1]))
    named = [{"tape": grid.tapes[t]["tape"], "ofBestOther": share} for share, t in found]
    wins = [pair for pair in named if pair["ofBestOther"] < 1]
    losses = [pair for pair in reversed(named) if pair["ofBestOther"] > 1]
    return {"wins": wins[:_MOST_NAMED], "losses": losses[:_MOST_NAMED]}
