"""A mistake that may be planted in a file, and the order in which mistakes are tried."""

import bisect
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Change = tuple[str, int, int, str]  # kind, begin, end, new text


@dataclass(frozen=True, order=True)
class Mistake:
    """`text` of the file `path` has `new` instead of the characters from `begin` to `end`."""

    path: str
    line: int
    begin: int
    end: int
    new: str
    kind: str

    def plant(self, text: str) -> str:
        """The file with the mistake in it; its other lines keep their numbers."""
        lost_lines = text.count("\n", self.begin, self.end) - self.new.count("\n")
        return text[: self.begin] + self.new + "\n" * lost_lines + text[self.end :]

    def diff(self, text: str) -> str:
        """The change on one line: `- old + new`, of whole lines."""
        begin = text.rfind("\n", 0, self.begin) + 1
        end = text.find("\n", self.end)
        end = len(text) if end < 0 else end
        new = text[begin : self.begin] + self.new + text[self.end : end]
        return f"- {_join(text[begin:end])}  + {_join(new)}"


def _join(text: str) -> str:
    return " ".join(text.split())


def mistakes_in(path: str, text: str, changes: Callable[[str], Iterator[Change]]) -> Iterator[Mistake]:
    line_ends = [found.start() for found in re.finditer("\n", text)]
    for kind, begin, end, new in changes(text):
        yield Mistake(path, bisect.bisect_left(line_ends, begin) + 1, begin, end, new, kind)


def in_order(mistakes: Iterable[Mistake], seed: int) -> Iterator[Mistake]:
    """One mistake a line, in an order that depends on the mistakes and the seed only.

    The lines are shuffled, then a kind of mistake is drawn for each and one of that kind, so that neither long
    lines nor frequent operators are preferred.
    """
    by_line: dict[tuple[str, int], dict[str, list[Mistake]]] = defaultdict(lambda: defaultdict(list))
    for mistake in sorted(mistakes):
        by_line[mistake.path, mistake.line][mistake.kind].append(mistake)
    lines = sorted(by_line)
    chance = random.Random(seed)
    chance.shuffle(lines)
    for line in lines:
        kinds = by_line[line]
        yield chance.choice(kinds[chance.choice(sorted(kinds))])
