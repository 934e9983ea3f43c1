"""A page for a browser: one file with text, tables and charts, which loads nothing.

Text from outside (names of tapes, labels, sentences) stays text on the page, never markup.
docs/decisions/0029-pages-of-fleets.md has the reasons.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import importlib.resources
import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from ._native import Error
from .files import write_whole
from .texts import display_text

LONGEST_NAME = 60  # on the page; the whole of it appears when the pointer is over it


class Hint(NamedTuple):
    """A cell of a table, and the text shown while the pointer is over it."""

    text: str
    hint: str


def name_cell(name: str) -> str | Hint:
    """A name of unknown origin and length."""
    shown = display_text(name, LONGEST_NAME)
    return shown if shown == name else Hint(shown, display_text(name, 2000))


def plot_text(name: str) -> str:
    """A name for a chart."""
    return display_text(name, LONGEST_NAME)


@dataclasses.dataclass(frozen=True)
class Table:
    """The first `texts` columns have texts as cells, the others numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str | Hint]]
    texts: int = 1


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, and below it, in this order, the parts that are given."""

    title: str
    text: Sequence[str] = ()  # paragraphs
    lines: Sequence[str] = ()  # to be copied as they are: commands, settings
    figure: dict[str, Any] | None = None  # a chart, see write_page(); names by plot_text()
    table: Table | None = None
    folded: bool = False
    failed: bool = False


def write_page(
    path: str | os.PathLike[str], title: str, sections: Sequence[Section], *, lead: str = ""
) -> None:
    """Writes the page, whole or not at all, for its owner alone. `lead` is its first sentence.

    A figure has `data`, a list of traces, and `layout`, under the names of plotly:
    points (`x`, `y`, `text`, `name`, `marker` with `size`, `opacity` and `symbol`: circle, x or star);
    boxes (`type` "box", horizontal: `y`, `lowerfence`, `q1`, `median`, `q3`, `upperfence`); maps
    (`type` "heatmap": `z`, `text`, `zmin`, `zmax`, `colorscale` with three colors, `colorbar`). The
    layout has `height`, `showlegend`, and `xaxis` and `yaxis` with `title`, `type`, `range`,
    `tickformat`, `tickvals`, `ticktext`, `side` and `autorange`. page.js draws these.
    """
    figures = [section.figure for section in sections if section.figure is not None]
    scripts = [_file("page.js")]
    text = _template().render(
        title=display_text(title),
        lead=lead,
        sections=sections,
        hint=Hint,
        style=_file("basics.css") + _file("page.css"),
        policy=_policy(scripts),
        scripts=scripts,
        figures=_inert(figures),
    )
    write_whole(path, text.encode("utf-8", "replace"))


def _template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise _missing_package("jinja2") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["display"] = display_text
    environment.filters["prose"] = _prose
    return environment.from_string(_file("page.html"))


def _prose(text: str) -> Any:
    """HTML of a text whose commands stand between backquotes."""
    import markupsafe  # jinja2 needs it

    pieces = display_text(text).split("`")
    if len(pieces) % 2 == 0:  # a backquote that is not one of a pair
        return "`".join(pieces)
    return markupsafe.Markup("").join(
        markupsafe.Markup("<code>{}</code>").format(piece) if i % 2 else markupsafe.escape(piece)
        for i, piece in enumerate(pieces)
    )


def _missing_package(name: str) -> Error:
    return Error(f"a page needs {name}: pip install {name}")


def _file(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text("utf-8")


def _inert(figures: list[dict[str, Any]]) -> str:
    """JSON that cannot end the script element that contains it."""
    return json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")


def _policy(scripts: Sequence[str]) -> str:
    """A policy that allows these scripts, no others, and no requests."""
    hashes = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    )
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
