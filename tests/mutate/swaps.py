"""Mistakes that look alike in C++ and Python: one operator, name or number for another.

Both languages are formatted by tools here: a binary operator stands between spaces, and neither a template's angle
brackets nor a pointer's star does. So patterns suffice, on a text in which comments and strings are blank.
"""

import re
from collections.abc import Iterator

from .mistake import Change

SWAPS = {
    "boundary": {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > "},
    "equality": {" == ": " != ", " != ": " == "},
}
ARITHMETIC = {" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " % ": " / ", " += ": " -= ", " -= ": " += "}
OTHER_NAME = {
    "min": "max",
    "max": "min",
    "floor": "ceil",
    "ceil": "floor",
    ".first": ".second",
    ".second": ".first",
    "->first": "->second",
    "->second": "->first",
    "true": "false",
    "false": "true",
    "True": "False",
    "False": "True",
}
EITHER_ORDER = ("min(", "max(", "swap(")
ONE_MORE_OR_LESS = re.compile(r" [-+] 1\b(?![.\w'])")
NUMBER = re.compile(r"(?<![\w.'])(\d+)(?![\w.'])")
SIMPLE = r"[A-Za-z_][\w.]*(?:\(\))?|\d+"
TWO_ARGUMENTS = re.compile(rf"(?<=\w\()({SIMPLE}), ({SIMPLE})(?=[,)])|(?<=, )({SIMPLE}), ({SIMPLE})(?=[,)])")


def swap_arithmetic(text: str) -> Iterator[Change]:
    """None where strings are put together: that would not compile."""
    for change in swap_pairs(text, "arithmetic", ARITHMETIC):
        line = text[text.rfind("\n", 0, change[1]) + 1 : text.find("\n", change[1])]
        if not re.search(r"[\"']|string|text|name", line):
            yield change


def swap_pairs(text: str, kind: str, pairs: dict[str, str]) -> Iterator[Change]:
    pattern = "|".join(re.escape(old) for old in sorted(pairs, key=len, reverse=True))
    for found in re.finditer(pattern, text):
        yield kind, found.start(), found.end(), pairs[found[0]]


def swap_names(text: str) -> Iterator[Change]:
    for found in re.finditer(r"(?:\b|(?=[.-]))(?:" + "|".join(map(re.escape, OTHER_NAME)) + r")\b", text):
        yield "opposite", found.start(), found.end(), OTHER_NAME[found[0]]


def change_numbers(text: str) -> Iterator[Change]:
    for found in ONE_MORE_OR_LESS.finditer(text):
        yield "off by one", found.start(), found.end(), ""
    for found in NUMBER.finditer(text):
        yield "constant", found.start(), found.end(), str(int(found[0], 10) + 1)


def swap_arguments(text: str) -> Iterator[Change]:
    for found in TWO_ARGUMENTS.finditer(text):
        first, second = found[1] or found[3], found[2] or found[4]
        if first != second and not text.endswith(EITHER_ORDER, 0, found.start()):
            yield "arguments", found.start(), found.end(), f"{second}, {first}"


def common_changes(text: str) -> Iterator[Change]:
    for kind, pairs in SWAPS.items():
        yield from swap_pairs(text, kind, pairs)
    yield from swap_arithmetic(text)
    yield from swap_names(text)
    yield from change_numbers(text)
    yield from swap_arguments(text)
