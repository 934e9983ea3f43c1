"""Tapes and reports of heaptape as Arrow tables.

docs/python.md of heaptape says what each table and each column is.
"""

from ._native import Error, Table, __version__
from .report import Report
from .tape import Tape
from .tool import Diff, Recording, ToolError, diff, program, record, replay

__all__ = [
    "Diff",
    "Error",
    "Recording",
    "Report",
    "Table",
    "Tape",
    "ToolError",
    "__version__",
    "diff",
    "program",
    "record",
    "replay",
]
