"""The search: Optuna proposes settings in batches of a fixed size, and learns their values.

The seed, the tapes and the number of trials alone determine the settings tried; the number of jobs
and interruptions of the search do not (docs/decisions/0030-tune.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .front import Tried, front
from .knobs import Setting
from .proposals import is_neighbour, neighbour, optuna_sampler, seed_of
from .replays import OBJECTIVES, Outcome, Trials

BATCH = 8

Affordable = Callable[[int], int]
Report = Callable[[list["Tried"]], None]

_INDEX, _VALUES, _ERROR = "index", "values", "error"


class Search:
    """Its trials are those of Optuna's study, which may have some already."""

    def __init__(self, trials: Trials, study: Any, seed: int, *, sampler: str = "mixed") -> None:
        self._sampler = sampler
        self._trials = trials
        self._seed = seed
        self._study = study
        self._starts = trials.space.starts()
        self._drop_partial_trials()
        for trial in self._read_trials():
            trials.know(Outcome(trial.setting, trial.values, trial.error))

    def run(self, trials: int, affordable: Affordable, report: Report) -> list[Tried]:
        """Runs up to so many trials. `affordable` returns how many of the next ones time allows."""
        self._trials.base()
        done = self._read_trials()
        report(done)
        while len(done) < trials:
            room = min(BATCH - len(done) % BATCH, trials - len(done))
            room = affordable(room)
            if room <= 0:
                break
            self._batch(done, room)
            done = self._read_trials()
            report(done)
        return done

    def _batch(self, done: list[Tried], room: int) -> None:
        """Proposals depend on whole batches alone, even if this one was interrupted."""
        known = done[: len(done) - len(done) % BATCH]
        best = [trial.setting for trial in front(known)]
        settings = {trial.setting for trial in done}
        batch: list[tuple[int, int | None, Setting]] = []
        for index in range(len(done), len(done) + room):
            number, setting = self._propose(index, best, settings)
            settings.add(setting)
            batch.append((index, number, setting))
        outcomes = self._trials.outcomes([setting for _, _, setting in batch])
        for (index, number, _), outcome in zip(batch, outcomes, strict=True):
            self._tell(index, number, outcome)

    def _propose(
        self, index: int, best: list[Setting], tried: set[Setting]
    ) -> tuple[int | None, Setting]:
        """The setting, and the number of its trial if Optuna proposed it."""
        seed = seed_of(self._seed, index)
        if index < len(self._starts):
            return None, self._starts[index]
        if is_neighbour(self._sampler, index) and best:
            return None, neighbour(self._trials.space, best, tried, seed)
        for trial in self._states("RUNNING"):
            if trial.user_attrs[_INDEX] == index:
                return trial.number, self._setting(trial.params)
        self._study.sampler = optuna_sampler(self._sampler, seed, index)
        trial = self._study.ask(self._distributions())
        trial.set_user_attr(_INDEX, index)  # last: a trial that has it has all
        return trial.number, self._setting(trial.params)

    def _tell(self, index: int, number: int | None, outcome: Outcome) -> None:
        import optuna

        ratios = {} if outcome.error else self._trials.ratios(outcome)
        # A failed setting is reported as a bad one: Optuna learns nothing from failures.
        values = [ratios.get(name, 1e6) for name in OBJECTIVES]
        attributes = {_VALUES: list(outcome.values), _ERROR: outcome.error}
        if number is None:
            params = dict(zip(self._names(), outcome.setting, strict=True))
            trial = optuna.trial.create_trial(
                values=values,
                params=params,
                distributions=self._distributions(),
                user_attrs={**attributes, _INDEX: index},
            )
            self._study.add_trial(trial)
            return
        stored = self._study.get_trials(deepcopy=False)[number]
        running = optuna.trial.Trial(self._study, stored._trial_id)
        for name, value in attributes.items():
            running.set_user_attr(name, value)
        self._study.tell(number, values)

    def _read_trials(self) -> list[Tried]:
        """The complete trials, in order, up to the first that is missing."""
        told = {trial.user_attrs[_INDEX]: trial for trial in self._states("COMPLETE")}
        found: list[Tried] = []
        while len(found) in told:
            trial = told[len(found)]
            error = trial.user_attrs[_ERROR]
            ratios = {} if error else dict(zip(OBJECTIVES, trial.values, strict=True))
            setting = self._setting(trial.params)
            found.append(
                Tried(len(found), setting, ratios, tuple(trial.user_attrs[_VALUES]), error)
            )
        return found

    def _drop_partial_trials(self) -> None:
        """Left by a search that was killed while asking: Optuna's samplers would count them."""
        import optuna

        for trial in self._study.get_trials(deepcopy=False):
            if trial.state == optuna.trial.TrialState.RUNNING and _INDEX not in trial.user_attrs:
                self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)

    def _states(self, name: str) -> list[Any]:
        import optuna

        state = optuna.trial.TrialState[name]
        trials = self._study.get_trials(deepcopy=False, states=(state,))
        return [trial for trial in trials if _INDEX in trial.user_attrs]

    def _names(self) -> list[str]:
        return [knob.name for knob in self._trials.space.knobs]

    def _setting(self, params: dict[str, Any]) -> Setting:
        return tuple(params[name] for name in self._names())

    def _distributions(self) -> dict[str, Any]:
        import optuna

        return {
            knob.name: optuna.distributions.IntDistribution(0, len(knob.values))
            for knob in self._trials.space.knobs
        }
