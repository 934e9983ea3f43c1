"""Quantiles over tapes, by nearest rank: each is the value of a tape.

So `p90 is +3 %` reads: nine in ten tapes have +3 % or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")


def quantile(values: Sequence[Value], percent: int) -> Value:
    """The least of the values that `percent` of them do not exceed; they must be sorted."""
    return values[max(1, -(-percent * len(values) // 100)) - 1]
