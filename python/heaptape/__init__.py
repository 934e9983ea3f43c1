"""Tapes and reports of heaptape as Arrow tables.

docs/python.md of heaptape says what each table and each column is.
"""

from ._native import Error, Table, __version__
from .tape import Tape

__all__ = ["Error", "Table", "Tape", "__version__"]
