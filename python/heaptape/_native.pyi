from typing import Any

__version__: str
AGGREGATES: dict[str, int | None]  # the percent of each quantile; None: the mean
FAILED: str  # the metric of gates that count failed cells
MEAN_RESIDENT: str

class Error(Exception):
    """One sentence: what is wrong, where, and what to do."""

class Table:
    """A table in Arrow's PyCapsule interface; each stream begins at the first row."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Tape:
    def __init__(self, path: bytes, skip_damage: bool) -> None: ...
    def facts(self) -> dict[str, Any]: ...
    def damages(self) -> list[dict[str, Any]]: ...
    def events(self) -> Table: ...
    def blocks(self) -> Table: ...
    def samples(self) -> Table: ...
    def sample_owners(self) -> Table: ...
    def marks(self) -> Table: ...
    def mapping_calls(self) -> Table: ...
    def steering_calls(self) -> Table: ...
    def sites(self) -> Table: ...
    def stacks(self) -> Table: ...

def list_table(columns: list[tuple[str, str, list[Any]]]) -> Table:
    """Of columns (name, type, values); a type is "count", "signed", "real" or "text"."""

class Gate:
    """A gate of a sweep: replayer/diff/gate.h."""

    text: str
    aggregate: str  # one of AGGREGATES; empty: it judges each tape
    metric: str
    unit: str
    is_change: bool
    is_percent: bool
    is_falling: bool  # < or <=
    limit: float  # a share, if it is a percentage
    extra: float
    def breaks(self, now: float, base: float | None = None) -> bool: ...
    def is_beyond(self, number: float) -> bool: ...

def parse_gate(text: str) -> Gate: ...
def metric_unit(name: str) -> str:
    """`bytes`, `count`, `ns` or `ratio`; KeyError if there is no such metric."""

def report_figures(path: bytes) -> dict[str, float | int]:
    """All metrics of the first run of a report."""

def figure_text(figure: float | None, unit: str, exact: bool = False) -> str:
    """`12.3 MiB`, or `12,897,485 B`; `-` for None."""

def change_text(change: float, unit: str) -> str:
    """`+1.00 MiB`."""

def percent_text(share: float) -> str:
    """`+5.00%` for 0.05."""

def display_text(text: str) -> str:
    """On one line, unable to steer a terminal or to turn the text around it."""
