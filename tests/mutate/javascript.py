"""Mistakes in the scripts of pages: those in C++, on a text in which comments, strings and patterns are blank."""

import re
from collections.abc import Iterator

from . import cpp
from .mistake import Change
from .swaps import swap_pairs

NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
    r"|(?<=[(=:,] )/(?:[^/\\\n]|\\.)+/\w*|(?<=\()/(?:[^/\\\n]|\\.)+/\w*",
    re.S,
)
EQUALITY = {" === ": " !== ", " !== ": " === "}


def changes(text: str) -> Iterator[Change]:
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n\"]", " ", found[0]), text)
    yield from cpp.changes_of(code)
    yield from swap_pairs(code, "equality", EQUALITY)
