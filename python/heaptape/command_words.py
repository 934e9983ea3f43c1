"""What the command lines of `heaptape sweep` and `heaptape tune` have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Refuses wrong words in one sentence, as the program heaptape does."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"heaptape: {message}; see `{self.prog} --help`\n")


def whole_number(least: int) -> Callable[[str], int]:
    """The type of an option, from `least` on."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} on")
        return int(text)

    return number
