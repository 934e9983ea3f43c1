"""How the tapes of a sweep are replayed."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class ReplayOptions:
    """As `heaptape replay` has them; None: its default."""

    touch: str | None = None
    threads: str | None = None
    clock: str | None = None
    do: tuple[str, ...] = ()
    timed: bool = False  # a replay of its own on its machine, with times
    repeat: int = 1  # of timed ones

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
