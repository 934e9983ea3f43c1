"""Notes which lines of the Python package run in a process, for `./dev mutate`.

Python imports this at its start when the directory is in PYTHONPATH. Each process writes "FILE:LINE" lines to a file of
its own in HEAPTAPE_LINES.
"""

import atexit
import os
import sys
import threading
from types import FrameType
from typing import Any

PACKAGE = os.path.join(os.environ["HEAPTAPE_PACKAGE"], "")
seen: set[tuple[str, int]] = set()


def trace(frame: FrameType, event: str, _argument: Any) -> Any:
    path = frame.f_code.co_filename
    if not path.startswith(PACKAGE):
        return None
    if event == "line":
        seen.add((path, frame.f_lineno))
    return trace


def write() -> None:
    sys.settrace(None)
    with open(os.path.join(os.environ["HEAPTAPE_LINES"], f"{os.getpid()}.lines"), "w", encoding="utf-8") as file:
        file.writelines(f"{path[len(PACKAGE) :]}:{line}\n" for path, line in sorted(seen))


atexit.register(write)
threading.settrace(trace)
sys.settrace(trace)
