"""Gates of a sweep: --fail-if AGGREGATE(METRIC) OP VALUE. A gate describes a failure.

    p90(peak.residentBytes) > 64MiB     fails when more than one tape in ten has over 64 MiB
    p90(peak.residentBytes) > +3%       ... grew by over 3 %, each tape by its own base
    max(mean.residentBytes) > +5% +1MiB ... a tape grew by over 5 % and 1 MiB
    failed > 0                          ... a cell failed

Terms, units and percentages are those of `heaptape diff` (docs/howto-ci.md).
"""

from __future__ import annotations

import dataclasses
import difflib
import operator
import re
from collections.abc import Callable
from typing import Any, NoReturn

from .._native import Error
from ..run_figures import COUNTERS, figure_columns, unit_of
from ..texts import display_text

PERCENTS = {"p10": 10, "p25": 25, "median": 50, "p75": 75, "p90": 90, "p99": 99}
AGGREGATES = (*PERCENTS, "min", "max", "mean")
FAILED = "failed"

_OPS: dict[str, Callable[[float, float], bool]] = {  # those of two signs first
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_BYTES = {
    "B": 1,
    **{f"{letter}iB": 1 << 10 * power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)},
    "kB": 1000,
}
_COUNTS = {"k": 1000, "M": 10**6, "G": 10**9}
_TIMES = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_EXAMPLE = "such as 'p90(peak.residentBytes)>+3%'"


@dataclasses.dataclass(frozen=True)
class Gate:
    text: str  # as it was written, without the blanks around it
    aggregate: str  # one of AGGREGATES, or FAILED
    metric: str  # empty for FAILED
    op: str
    value: float  # absolute, a change, or a share: 0.03 of +3%
    is_change: bool
    is_percent: bool
    extra: float = 0  # 1 MiB of "+5% +1MiB"

    @property
    def unit(self) -> str:
        return unit_of(self.metric)

    def is_breached_by(self, value: float) -> bool:
        return _OPS[self.op](value, self.value)


def parse_gate(text: str) -> Gate:
    """Raises heaptape.Error with one sentence that quotes the gate."""
    return _Parser(text).gate()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text.strip(" \t")
        self._at = 0

    def gate(self) -> Gate:
        aggregate, metric = self._subject()
        op = self._op()
        sign = self._sign()
        value, has_unit = self._quantity(metric)
        is_percent = self._take("%")
        if is_percent and (has_unit or not sign or aggregate == FAILED):
            self._fail("a percentage is a change of a figure, such as +3%")
        self._check_whole(metric, value, has_unit or is_percent)
        extra = self._extra(metric, sign) if is_percent else 0.0
        if self._at != len(self._text):
            self._fail(f"'{display_text(self._rest())}' is left over")
        factor = -1 if sign == "-" else 1
        value = factor * (value / 100 if is_percent else value)
        return Gate(self._text, aggregate, metric, op, value, bool(sign), is_percent, extra)

    def _subject(self) -> tuple[str, str]:
        word = self._match(r"[A-Za-z0-9]*")
        if word == FAILED:
            return word, ""
        if word not in AGGREGATES:
            names = ", ".join((*AGGREGATES, FAILED))
            near = _near(word, (*AGGREGATES, FAILED))
            self._fail(f"it begins with one of {names}{near}, {_EXAMPLE}")
        if not self._take("("):
            self._fail(f"a metric in parentheses follows {word}, {_EXAMPLE}")
        metric = self._match(r"[^\s()<>=!]*")
        if not self._take(")"):
            self._fail(f"')' is missing behind the metric, {_EXAMPLE}")
        known = [name for name, _, _ in figure_columns()]
        if metric not in known and not (metric.startswith(COUNTERS) and metric != COUNTERS):
            self._fail(f"there is no metric '{display_text(metric)}'{_near(metric, known)}")
        return word, metric

    def _op(self) -> str:
        for op in _OPS:
            if self._take(op):
                return op
        self._fail(f"one of > >= < <= == != is missing, {_EXAMPLE}; quote it for the shell")

    def _sign(self) -> str:
        return "+" if self._take("+") else "-" if self._take("-") else ""

    def _quantity(self, metric: str) -> tuple[float, bool]:
        """The number, and whether it has a unit."""
        digits = self._match(_NUMBER.pattern)
        if not digits:
            self._fail("a number is missing, such as 64MiB, 0.25 or +3%")
        number = float(digits) if re.search(r"[.eE]", digits) else int(digits)
        word = self._match(r"[A-Za-z]*")
        if not word:
            return number, False
        unit = unit_of(metric)
        may_be_bytes = unit == "bytes" or metric.startswith(COUNTERS)
        units = {**_COUNTS, **(_BYTES if may_be_bytes else {}), **(_TIMES if unit == "ns" else {})}
        if word not in units:
            self._fail(f"'{word}' is none of the units {' '.join(units)}")
        return number * units[word], True

    def _extra(self, metric: str, sign: str) -> float:
        """The second part of "+5% +1MiB", with the sign of the percentage."""
        found = self._sign()
        if not found:
            return 0.0
        if found != sign:
            self._fail(f"the amount after a percentage must have the same sign, {sign}")
        value, _ = self._quantity(metric)
        return -value if sign == "-" else value

    def _check_whole(self, metric: str, value: float, has_unit: bool) -> None:
        if unit_of(metric) == "bytes" and not has_unit and value != int(value):
            self._fail("bytes are a whole number, or have a unit behind them, such as 1.5MiB")

    def _rest(self) -> str:
        return self._text[self._at :]

    def _match(self, pattern: str) -> str:
        self._skip_blanks()
        found = re.compile(pattern).match(self._text, self._at)
        word = found[0] if found else ""
        self._at += len(word)
        self._skip_blanks()
        return word

    def _take(self, word: str) -> bool:
        self._skip_blanks()
        if not self._text.startswith(word, self._at):
            return False
        self._at += len(word)
        self._skip_blanks()
        return True

    def _skip_blanks(self) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1

    def _fail(self, what: str) -> NoReturn:
        raise Error(f"cannot read the gate '{display_text(self._text)}': {what}")


def _near(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f" (did you mean {near[0]}?)" if near else ""
