"""How the tapes of a sweep are replayed and compared, and where."""

from __future__ import annotations

import dataclasses
import os
from typing import Any


@dataclasses.dataclass(frozen=True)
class ReplayOptions:
    """As `heaptape replay` has them; None: its default."""

    touch: str | None = None
    threads: str | None = None
    clock: str | None = None
    do: tuple[str, ...] = ()
    timed: bool = False  # each replay alone on its machine, with times
    repeat: int = 1  # of timed ones
    timeout: float | None = None  # seconds of one replay

    def words(self) -> list[str]:
        """With --jobs, `heaptape replay` omits the times."""
        words = ["--repeat", str(self.repeat)] if self.timed else ["--jobs", "2"]
        for name in ("touch", "threads", "clock"):
            value = getattr(self, name)
            words += [] if value is None else [f"--{name}", value]
        return words + [word for action in self.do for word in ("--do", action)]

    def space(self) -> dict[str, Any]:
        """The options that the memory of a run depends on."""
        return {
            "touch": self.touch,
            "threads": self.threads,
            "clock": self.clock,
            "do": list(self.do),
        }


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The base of a sweep, and its gates."""

    baseline: str | None = None  # the label of a candidate
    against: str | os.PathLike[str] | None = None  # another sweep: its directory or sweep.json
    gates: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Machines:
    """Where the replays run: a Ray cluster, or this machine."""

    address: str | None = None  # of the cluster
    jobs: int | None = None  # replays at a time on this machine
