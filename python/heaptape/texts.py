"""Text of unknown origin, lists and tables, made fit for people. Numbers: heaptape._native."""

from __future__ import annotations

from collections.abc import Sequence

from . import _native


def valid_text(text: str) -> str:
    """Replaces anything that UTF-8 cannot represent: names of files need not be UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def display_text(text: str, longest: int | None = None) -> str:
    """On one line, unable to steer a terminal or to change the direction of the text around it.

    Omits the middle of a text longer than `longest`.
    """
    shown = _native.display_text(text)
    if longest is None or len(shown) <= longest:
        return shown
    head = (longest - 1) // 2
    return f"{shown[:head]}…{shown[len(shown) - (longest - 1 - head) :]}"


def quantity_text(number: int, thing: str) -> str:
    """`1 cell`, `3 cells`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def join_names(names: Sequence[str], most: int = 5) -> str:
    """`a, b and 3 more`."""
    shown = ", ".join(display_text(name, 60) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def noise_text(noise: float) -> str:
    """For times that do not differ by more than `noise`, a share of the default's."""
    return "too noisy to compare" if noise > 1 else f"no difference measured (±{noise:.0%})"


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
