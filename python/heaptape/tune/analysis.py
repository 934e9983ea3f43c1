"""The knobs of a setting: those that it does not need, that act together, and that matter."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Callable
from typing import Any

from .knobs import Setting
from .replays import OBJECTIVES, Trials

# A knob is needless if it adds at most this share of a setting's change of an objective.
_NEEDLESS = 0.01

# Two knobs act together if their interaction is at least this share of the larger effect, and at
# least this change.
_STRONG_SHARE = 0.25
_STRONG_CHANGE = 0.001

_MOST_KNOBS = 6  # of a setting, whose pairs are analyzed
_LEAST_TRIALS = 20  # for importances

InTime = Callable[[], bool]


@dataclasses.dataclass(frozen=True)
class Interaction:
    """The changes of an objective by two knobs, from the default: 0.1 is 10 % more."""

    knobs: tuple[str, str]
    objective: str
    alone: tuple[float, float]
    together: float

    @property
    def change(self) -> float:
        return self.together - self.alone[0] - self.alone[1]

    @property
    def strong(self) -> bool:
        largest = max(abs(value) for value in (*self.alone, self.together))
        return abs(self.change) >= max(_STRONG_SHARE * largest, _STRONG_CHANGE)


def simplify(trials: Trials, setting: Setting, in_time: InTime) -> Setting:
    """Drops knobs that it does not need: each objective stays, or becomes better."""
    while in_time():
        shorter = [_without(setting, i) for i, level in enumerate(setting) if level]
        if not shorter:
            break
        outcomes = trials.outcomes([setting, *shorter])
        now = trials.ratios(outcomes[0])
        as_good = [
            outcome.setting
            for outcome in outcomes[1:]
            if not outcome.error and _as_good(trials.ratios(outcome), now)
        ]
        if not as_good:
            break
        setting = as_good[0]
    return setting


def interactions(trials: Trials, setting: Setting) -> list[Interaction]:
    """For each pair of knobs that the setting changes: a two-level factorial at the default."""
    changed = [i for i, level in enumerate(setting) if level][:_MOST_KNOBS]
    pairs = list(itertools.combinations(changed, 2))
    wanted = [_only(setting, {i}) for i in changed] + [_only(setting, set(pair)) for pair in pairs]
    change = {
        outcome.setting: {name: value - 1 for name, value in trials.ratios(outcome).items()}
        for outcome in trials.outcomes(wanted)
        if not outcome.error
    }
    found = []
    for i, j in pairs:
        cells = [_only(setting, chosen) for chosen in ({i}, {j}, {i, j})]
        if not all(cell in change for cell in cells):
            continue
        names = (trials.space.knobs[i].name, trials.space.knobs[j].name)
        for objective in OBJECTIVES:
            one, other, both = (change[cell][objective] for cell in cells)
            found.append(Interaction(names, objective, (one, other), both))
    return found


def importances(study: Any) -> dict[str, dict[str, float]]:
    """By objective: how well each knob predicts which trials are in the best tenth (PED-ANOVA).

    Empty if the best tenth is hardly more than one trial.
    """
    import optuna

    found: dict[str, dict[str, float]] = {}
    if len(study.get_trials(deepcopy=False)) < _LEAST_TRIALS:
        return found
    for i, objective in enumerate(OBJECTIVES):

        def value(trial: Any, i: int = i) -> float:
            return float(trial.values[i])

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[objective] = optuna.importance.get_param_importances(
                    study,
                    evaluator=optuna.importance.PedAnovaImportanceEvaluator(),
                    target=value,
                )
        except (RuntimeError, ValueError):
            continue  # too few trials, or all are alike
    return found


def _as_good(ratios: dict[str, float], now: dict[str, float]) -> bool:
    return all(
        ratios[name] <= now[name] + _NEEDLESS * abs(now[name] - 1) + 1e-12 for name in OBJECTIVES
    )


def _without(setting: Setting, i: int) -> Setting:
    return (*setting[:i], 0, *setting[i + 1 :])


def _only(setting: Setting, chosen: set[int]) -> Setting:
    return tuple(level if i in chosen else 0 for i, level in enumerate(setting))
