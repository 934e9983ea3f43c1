"""The findings of a tuning: results.py and point.py turn them into JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from .analysis import Interaction
from .compare import Comparison
from .confirm import Key
from .confirming import Confirmation
from .front import Tried
from .knobs import Setting, Space

Values = dict[str, float]


@dataclasses.dataclass
class Findings:
    space: Space
    searched: list[str]  # tapes
    base: tuple[Values, ...]  # of the default, on each of these
    tried: list[Tried]
    front: list[Tried]
    candidates: list[Tried]  # of the front, without needless knobs
    points: dict[str, Tried]
    objective: str  # that the smallest point is the smallest in
    interactions: dict[Setting, list[Interaction]]
    importances: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)  # of all tapes
    ideal: dict[str, Values] = dataclasses.field(default_factory=dict)
    held_out: list[str] = dataclasses.field(default_factory=list)
    held_out_base: tuple[Values, ...] = ()
    held_out_values: dict[Setting, tuple[Values, ...]] = dataclasses.field(default_factory=dict)
    confirmed: Confirmation = dataclasses.field(
        default_factory=lambda: Confirmation({}, "not tried")
    )
    comparisons: dict[str, Comparison] = dataclasses.field(default_factory=dict)  # by tape
    max_slowdown: float | None = None  # 0.03: slower ones are no candidates
    too_slow: list[Key] = dataclasses.field(default_factory=list)
    installed: str = ""  # the version of the library
    seed: int = 0
    budget: float | None = None
    seconds: float = 0

    @property
    def default(self) -> Tried:
        return self.tried[0]
