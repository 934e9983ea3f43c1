"""The progress of a sweep on standard error.

A terminal has one line, which is rewritten; other files get a line now and then.
"""

from __future__ import annotations

import time
from typing import TextIO

from ..texts import display_text

_TERMINAL_SECONDS = 0.2  # between two lines
_OTHER_SECONDS = 10.0
_START_EVENTS = 50_000  # as much work as the start of a replay


class Progress:
    """The progress of the cells that are not cached. Work is measured in events."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._started = self._told = time.monotonic()
        self.finished = self.failed = self.cached = self.total = 0
        self._events = self._work = self._whole = 0
        self._open = False  # a line of a terminal that has no end yet

    def note(self, text: str) -> None:
        self.close()
        print(f"heaptape: note: {display_text(text)}", file=self._stream, flush=True)

    def begin(self, events: list[int], *, cached: int, failed: int) -> None:
        """`events` of each cell that is to be replayed."""
        self._started = time.monotonic()
        self.cached, self.failed = cached, failed
        self.finished = cached + failed
        self.total = self.finished + len(events)
        self._whole = sum(events) + _START_EVENTS * len(events)

    def show_inspections(self, done: int, total: int) -> None:
        self._say(f"{done:,} of {total:,} tapes inspected", done == total)

    def cell(self, events: int, *, failed: bool) -> None:
        self.finished += 1
        self.failed += failed
        self._events += events
        self._work += events + _START_EVENTS
        self._say(self._line(), self.finished == self.total)

    def _line(self) -> str:
        seconds = max(time.monotonic() - self._started, 1e-3)
        parts = [f"{self.finished:,} of {self.total:,} cells"]
        parts += [f"{self.failed:,} failed"] if self.failed else []
        parts += [f"{self.cached:,} cached"] if self.cached else []
        parts.append(f"{self._events / seconds / 1e6:.1f} M events/s")
        left = seconds * (self._whole / self._work - 1)
        parts.append(
            f"{_duration(left)} left" if self.finished < self.total else _duration(seconds)
        )
        return ", ".join(parts)

    def _say(self, line: str, last: bool) -> None:
        now = time.monotonic()
        pause = _TERMINAL_SECONDS if self._terminal else _OTHER_SECONDS
        if now - self._told < pause and not last:
            return
        self._told = now
        if self._terminal:
            print(f"\r\x1b[K{line}", end="\n" if last else "", file=self._stream, flush=True)
        else:
            print(f"heaptape: {line}", file=self._stream, flush=True)
        self._open = self._terminal and not last

    def close(self) -> None:
        """Ends the line, so that further text begins another one."""
        if self._open:
            print(file=self._stream)
            self._open = False


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {whole % 60:02} s"
