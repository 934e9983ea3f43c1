"""The settings worth having: the Pareto front, the default's rank, the points of interest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from .knobs import Setting
from .replays import MEAN, OBJECTIVES, PEAK, WORK, geometric_mean

Ratios = Mapping[str, float]

SMALLEST, FASTEST, BALANCED = "smallest", "fastest", "balanced"

# The share of the possible gain that a point may give up for being better otherwise.
_SLACK = 0.02


@dataclasses.dataclass(frozen=True, eq=False)
class Tried:
    """A trial of the search."""

    index: int
    setting: Setting
    ratios: dict[str, float]  # to the default, by objective; empty: it failed
    values: tuple[dict[str, float], ...]  # of the objectives, a tape each
    error: str | None = None


def dominates(one: Ratios, other: Ratios, objectives: Sequence[str] = OBJECTIVES) -> bool:
    """Nowhere worse, somewhere better."""
    pairs = [(one[name], other[name]) for name in objectives]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def distinct(tried: Sequence[Tried]) -> list[Tried]:
    """The first trial of each setting that did not fail."""
    found: dict[object, Tried] = {}
    for trial in tried:
        if not trial.error:
            found.setdefault(trial.setting, trial)
    return list(found.values())


def front(tried: Sequence[Tried]) -> list[Tried]:
    """The trials that none dominates, by their peak; the first of those with equal values."""
    found: list[Tried] = []
    for trial in sorted(distinct(tried), key=_order):
        if not any(_covers(other.ratios, trial.ratios) for other in found):
            found.append(trial)
    return found


def count_dominating(tried: Sequence[Tried], ratios: Ratios) -> int:
    return sum(dominates(trial.ratios, ratios) for trial in distinct(tried))


def rank(tried: Sequence[Tried], ratios: Ratios, objective: str) -> int:
    """1: no setting is better."""
    return 1 + sum(trial.ratios[objective] < ratios[objective] for trial in distinct(tried))


def score(ratios: Ratios, objective: str) -> float:
    """1 for the default; less is better. The plateau counts where it is the objective."""
    return geometric_mean([ratios[name] for name in dict.fromkeys((PEAK, MEAN, WORK, objective))])


def points(candidates: Sequence[Tried], objective: str) -> dict[str, Tried]:
    """The smallest is the one by `objective`."""
    return {
        SMALLEST: _least(candidates, objective, objective),
        FASTEST: _least(candidates, WORK, objective),
        BALANCED: min(candidates, key=lambda trial: _balance(trial, objective)),
    }


def spread_out(trials: Sequence[Tried], most: int) -> list[Tried]:
    """At most `most` trials of a front, at even distances along it."""
    if len(trials) <= most:
        return list(trials)
    return [trials[round(i * (len(trials) - 1) / (most - 1))] for i in range(most)]


def _least(candidates: Sequence[Tried], name: str, objective: str) -> Tried:
    """The most balanced of those that are nearly as good as the best."""
    least = min(trial.ratios[name] for trial in candidates)
    limit = least + _SLACK * max(0.0, 1 - least)
    near = [trial for trial in candidates if trial.ratios[name] <= limit]
    return min(near, key=lambda trial: _balance(trial, objective))


def _balance(trial: Tried, objective: str) -> tuple[float, int]:
    return score(trial.ratios, objective), trial.index


def _order(trial: Tried) -> tuple[float, ...]:
    return (*(trial.ratios[name] for name in OBJECTIVES), trial.index)


def _covers(one: Ratios, other: Ratios) -> bool:
    return all(one[name] <= other[name] for name in OBJECTIVES)
