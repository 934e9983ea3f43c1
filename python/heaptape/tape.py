"""A tape: what it says of itself, and its calls, blocks and samples as tables."""

from __future__ import annotations

import os
from typing import Any, Literal

from . import _native
from ._native import Table
from .columns import Column, columns_of, table_of

# What facts have in other words than `info --json`.
_NOT_HERE = {"version", "bytesPerEvent", "recordedAt", "ended"}
_ONLY_HERE: list[Column] = [
    ("startUnixNs", "count", ("startUnixNs",)),
    ("endReason", "text", ("endReason",)),
    ("endStatus", "signed", ("endStatus",)),
]


class Tape:
    """A tape that `heaptape record` wrote, or that is being written.

    Opening reads its outline only. Each table is read anew, from the file, whenever a consumer asks
    for its stream; what does not fit one batch of 65,536 rows is read while the consumer goes on.
    Raises heaptape.Error, with one sentence, where the file is no tape or is damaged. With
    on_damage="skip" tables leave out what is damaged, as `heaptape dump` does.

    May be used by several threads; no table needs the GIL while it is read.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, on_damage: Literal["stop", "skip"] = "stop"
    ) -> None:
        if on_damage not in ("stop", "skip"):
            raise ValueError(f"on_damage is 'stop' or 'skip', not {on_damage!r}")
        self.path = os.fspath(path)
        self._tape = _native.Tape(os.fsencode(self.path), on_damage == "skip")

    def __repr__(self) -> str:
        return f"Tape({self.path!r})"

    @property
    def facts(self) -> dict[str, Any]:
        """Header and summary, with the names of `heaptape info --json`.

        In place of `recordedAt` and `ended` there are `startUnixNs`, `endReason` and `endStatus`. A
        tape that is not finished has none of its summary (`allocations` and all behind it).
        """
        return dict(self._tape.facts())

    @property
    def damages(self) -> list[dict[str, Any]]:
        """Damage of the file's outline that on_damage="skip" left out.

        Each has `offset`, `bytes`, `lostEvents` and `reason`.
        """
        return list(self._tape.damages())

    def summary(self) -> Table:
        """One row: those of the facts that are one number or text."""
        columns = [column for column in columns_of("TapeFacts") if column[0] not in _NOT_HERE]
        return table_of([*columns, *_ONLY_HERE], [self.facts])

    def events(self) -> Table:
        """One row for each call, in the order of the tape."""
        return self._tape.events()

    def blocks(self) -> Table:
        """One row for each block: those that died, in that order, then the others."""
        return self._tape.blocks()

    def samples(self) -> Table:
        """What the recorder saw of the process from outside."""
        return self._tape.samples()

    def marks(self) -> Table:
        """What `heaptape ctl PID mark NAME` marked."""
        return self._tape.marks()

    def sites(self) -> Table:
        """Who asked for blocks: one row for each site. Of a tape without call stacks, none.

        Functions and lines come from the file that `heaptape symbolize TAPE` writes beside it.
        """
        return self._tape.sites()

    def stacks(self) -> Table:
        """The frames of all call stacks, as a tree: `caller` is the next outer frame."""
        return self._tape.stacks()
