"""The next settings to try: a third from Optuna's TPE, a third beside the front, a third random.

TPE learns which values go with good results. It is slow to see that a knob which does nothing alone
does much beside another one; a neighbor, a setting of the front with one knob changed, shows just
that. Random settings find distant optima. docs/decisions/0030-tune.md has the figures.
"""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Collection, Sequence
from typing import Any

from .knobs import Setting, Space

SAMPLERS = ("mixed", "tpe", "neighbours", "nsga2", "random")

_ATTEMPTS = 50


def seed_of(seed: int, index: int) -> int:
    """The seed of a proposal, by its number, so that a resumed search proposes the same."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{index}".encode()).digest()[:4], "big")


def is_neighbour(sampler: str, index: int) -> bool:
    return sampler == "neighbours" or (sampler == "mixed" and index % 3 == 1)


def neighbour(
    space: Space, fronts: Sequence[Setting], tried: Collection[Setting], seed: int
) -> Setting:
    """A setting of the front with one or two knobs changed; not tried yet, if one is found."""
    chance = random.Random(seed)
    setting = space.default
    for attempt in range(_ATTEMPTS):
        setting = chance.choice(fronts)
        for _ in range(1 + attempt % 2):
            i = chance.randrange(len(space.knobs))
            level = chance.randrange(len(space.knobs[i].values) + 1)
            setting = (*setting[:i], level, *setting[i + 1 :])
        if setting not in tried:
            break
    return setting


def optuna_sampler(sampler: str, seed: int, index: int) -> Any:
    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if sampler == "nsga2":
            return optuna.samplers.NSGAIISampler(population_size=16, seed=seed)
        if sampler == "random" or (sampler == "mixed" and index % 3 == 0):
            return optuna.samplers.RandomSampler(seed=seed)
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
