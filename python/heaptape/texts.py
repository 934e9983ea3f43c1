"""Text of unknown origin and numbers, made fit for people; as the program heaptape prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BYTES = (1024.0, ("B", "KiB", "MiB", "GiB", "TiB"))
_TIMES = (1000.0, ("ns", "us", "ms", "s"))

# Control characters, ends of lines, changes of direction (UAX #9), and values that are no text.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def valid_text(text: str) -> str:
    """Replaces anything that UTF-8 cannot represent: names of files need not be UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def display_text(text: str, longest: int | None = None) -> str:
    """On one line, unable to steer a terminal or to turn the text around it.

    Omits the middle of a text longer than `longest`.
    """
    shown = _UNFIT.sub("\ufffd", text)
    if longest is None or len(shown) <= longest:
        return shown
    head = (longest - 1) // 2
    return f"{shown[:head]}…{shown[len(shown) - (longest - 1 - head) :]}"


def size_text(size: float, *, exact: bool = False) -> str:
    """`12.3 MiB`; `exact`: `12,897,485 B`."""
    if exact:
        return f"{count_text(size)} B"
    return f"{size:.0f} B" if abs(size) < 1024 else _scale_text(size, _BYTES)


def time_text(nanoseconds: float) -> str:
    return _scale_text(nanoseconds, _TIMES)


def count_text(number: float) -> str:
    return f"{number if isinstance(number, int) else round(number):,}"


def ratio_text(number: float) -> str:
    return f"{number:.2f}" if abs(number) >= 0.01 or number == 0 else f"{number:.2g}"


def figure_text(value: float | None, unit: str, *, exact: bool = False) -> str:
    """`unit` is bytes, ns, count or ratio, as run_figures.unit_of() returns it."""
    if value is None:
        return "-"
    if unit == "bytes":
        return size_text(value, exact=exact)
    if unit == "ns":
        return time_text(value)
    return count_text(value) if unit == "count" else ratio_text(value)


def change_text(change: float, unit: str) -> str:
    """With its sign: `+1.00 MiB`."""
    return ("" if change < 0 else "+") + figure_text(change, unit)


def percent_text(share: float) -> str:
    """A change: `+5.0%`; 0 is `0.0%`, and values that round to it are `<+0.1%` or `>-0.1%`."""
    if share and abs(share) < 0.0005:
        return "<+0.1%" if share > 0 else ">-0.1%"
    return f"{share * 100:+,.1f}%" if share else "0.0%"


def quantity_text(number: int, thing: str) -> str:
    """`1 cell`, `3 cells`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def join_names(names: Sequence[str], most: int = 5) -> str:
    """`a, b and 3 more`."""
    shown = ", ".join(display_text(name, 60) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def table_text(rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """Columns: the first `texts` are aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if i < texts else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "".join(line + "\n" for line in lines)


def _scale_text(number: float, scale: tuple[float, Sequence[str]]) -> str:
    """Three digits or more, in the unit that they need."""
    step, units = scale
    unit = 0
    while unit + 1 < len(units) and abs(number) >= step - 0.05:
        number /= step
        unit += 1
    return f"{number:.{2 if abs(number) < 9.995 else 1}f} {units[unit]}"
