"""A tape: its facts, and its calls, blocks and samples as tables."""

from __future__ import annotations

import os
from typing import Any, Literal

from . import _native
from ._native import Table
from .columns import Column, columns_of, table_of

# Facts that differ from `info --json`.
_NOT_HERE = {"version", "bytesPerEvent", "recordedAt", "ended"}
_ONLY_HERE: list[Column] = [
    ("startUnixNs", "count", ("startUnixNs",)),
    ("endReason", "text", ("endReason",)),
    ("endStatus", "signed", ("endStatus",)),
]


class Tape:
    """A tape that `heaptape record` wrote, or that is being written.

    Opening reads only the header, the index and the summary. Each table is read anew, from the
    file, whenever a consumer asks for its stream; rows beyond the first batch of 65,536 are read
    while the consumer goes on.
    Raises heaptape.Error, with one sentence, if the file is not a tape or is damaged. With
    on_damage="skip" tables omit damaged parts, as `heaptape dump` does.

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

        `startUnixNs`, `endReason` and `endStatus` replace `recordedAt` and `ended`. An unfinished
        tape has no summary (`allocations` and everything after it).
        """
        return dict(self._tape.facts())

    @property
    def damages(self) -> list[dict[str, Any]]:
        """Damage of the header, the index or the summary that on_damage="skip" left out.

        Each has `offset`, `bytes`, `lostEvents` and `reason`.
        """
        return list(self._tape.damages())

    def summary(self) -> Table:
        """One row: the facts that are a single number or text."""
        columns = [column for column in columns_of("TapeFacts") if column[0] not in _NOT_HERE]
        return table_of([*columns, *_ONLY_HERE], [self.facts])

    def events(self) -> Table:
        """One row for each call, in the order of the tape."""
        return self._tape.events()

    def blocks(self) -> Table:
        """One row for each block: those that died, in that order, then the others."""
        return self._tape.blocks()

    def samples(self) -> Table:
        """One row for each sample of the process's memory."""
        return self._tape.samples()

    def sample_owners(self) -> Table:
        """One row for each owner of memory beside malloc in each sample."""
        return self._tape.sample_owners()

    def marks(self) -> Table:
        """The marks that `heaptape ctl PID mark NAME` set."""
        return self._tape.marks()

    def mapping_calls(self) -> Table:
        """The calls by which the program mapped memory itself, such as mmap."""
        return self._tape.mapping_calls()

    def steering_calls(self) -> Table:
        """The calls by which the program steered its allocator, such as malloc_trim."""
        return self._tape.steering_calls()

    def sites(self) -> Table:
        """One row for each site that asked for blocks; none for a tape without call stacks.

        Functions and lines come from the file that `heaptape symbolize TAPE` writes beside it.
        """
        return self._tape.sites()

    def stacks(self) -> Table:
        """The frames of all call stacks, as a tree: `caller` is the next outer frame."""
        return self._tape.stacks()
