"""Common parts of the command lines of `heaptape sweep` and `heaptape tune`."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_MOST_SECONDS = 1e6  # 11 days; poll() takes at most 2^31 ms, 24 days


class Parser(argparse.ArgumentParser):
    """Refuses wrong arguments in one sentence, as the program heaptape does."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"heaptape: {message}; see `{self.prog} --help`\n")


def whole_number(least: int) -> Callable[[str], int]:
    """The type of an option: an integer of at least `least`."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least {least}")
        return int(text)

    return number


def seconds(text: str) -> float:
    """The type of an option: `90s`, `10m`, `1.5h`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    value = float(found[1]) * _UNITS[found[2]] if found else 0
    if value > _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"'{text}' is too long: at most 11 days")
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a duration: write 90s, 10m or 2h")
    return value


def percentage(text: str) -> float:
    """The type of an option: `3%` or `3` is 0.03."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)%?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage: write 3%")
    return float(found[1]) / 100


@contextlib.contextmanager
def stop_on_sigterm() -> Iterator[None]:
    """SIGTERM acts as Ctrl-C."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def print_result(text: str) -> None:
    """Prints to standard output.

    It is not an error if the reader stops early, as `head` does. Ends the program with status 2 if
    standard output cannot be written.
    """
    try:
        print(text, end="", flush=True)
    except OSError as error:
        # Python would try again at its end, and say so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"heaptape: cannot write to standard output: {error.strerror}", file=sys.stderr)
            raise SystemExit(2) from None
