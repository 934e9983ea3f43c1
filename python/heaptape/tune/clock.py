"""Divides the time of a tuning among its parts."""

from __future__ import annotations

import time

# The end of each part, as a share of the whole.
SEARCH, ANALYSIS, HOLD_OUT, CONFIRM = 0.5, 0.65, 0.75, 1.0


class Clock:
    """Without a budget there is always time."""

    def __init__(self, budget: float | None) -> None:
        self._budget = budget
        self._start = time.monotonic()

    @property
    def limited(self) -> bool:
        return self._budget is not None

    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._start

    def seconds_left(self, share: float) -> float:
        return float("inf") if self._budget is None else self._budget * share - self.seconds()


class Pace:
    """How many more items of a kind fit into the time up to a share of the whole."""

    def __init__(self, clock: Clock, share: float, expected: float) -> None:
        self._clock = clock
        self._share = share
        self._expected = expected  # seconds for one, until some have been done
        self._begin = clock.seconds()
        self._granted = 0

    def affordable(self, wanted: int) -> int:
        if self._clock.limited:
            passed = self._clock.seconds() - self._begin
            each = passed / self._granted if self._granted else self._expected
            wanted = min(wanted, int(self._clock.seconds_left(self._share) / max(each, 1e-6)))
        self._granted += max(0, wanted)
        return wanted
