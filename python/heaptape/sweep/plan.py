"""The arguments of a sweep, in DIR/plan.json, so that `--resume` needs no others."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any

from .._native import Error
from ..files import write_whole
from .node import FETCHED_BYTES
from .options import Comparison, ReplayOptions
from .tapes import Found

_VERSION = 1


@dataclasses.dataclass(frozen=True)
class Plan:
    """The arguments of a sweep. Its tapes are found once: a resumed sweep has the same ones."""

    tapes: tuple[Found, ...]
    specs: tuple[str, ...]
    where: str | None = None
    options: ReplayOptions = dataclasses.field(default_factory=ReplayOptions)
    cache: str | None = None  # None: in the sweep's directory
    comparison: Comparison = dataclasses.field(default_factory=Comparison)
    fetched_bytes: int = FETCHED_BYTES
    folder: str = dataclasses.field(default_factory=os.getcwd)

    def write(self, output: str) -> None:
        plan = {"version": _VERSION, **dataclasses.asdict(self)}
        write_whole(os.path.join(output, "plan.json"), json.dumps(plan, indent=1).encode())


def read_plan(output: str) -> Plan:
    path = os.path.join(output, "plan.json")
    try:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        return _plan(plan)
    except OSError as error:
        raise Error(
            f"there is no sweep to resume in '{output}': cannot open '{path}': {error.strerror}"
        ) from None
    except (ValueError, TypeError, KeyError):
        raise Error(f"'{path}' is not the plan of a sweep: start the sweep again") from None


def _plan(plan: dict[str, Any]) -> Plan:
    if plan.pop("version") != _VERSION:
        raise ValueError
    plan["tapes"] = tuple(Found(**tape) for tape in plan["tapes"])
    plan["options"]["do"] = tuple(plan["options"]["do"])
    plan["options"] = ReplayOptions(**plan["options"])
    plan["comparison"]["gates"] = tuple(plan["comparison"]["gates"])
    plan["comparison"] = Comparison(**plan["comparison"])
    return Plan(**{**plan, "specs": tuple(plan["specs"])})


@contextlib.contextmanager
def only_sweep_in(output: str) -> Iterator[None]:
    """Makes the directory. Raises Error while another sweep uses it."""
    import filelock

    try:
        os.makedirs(output, exist_ok=True)
        lock = filelock.FileLock(os.path.join(output, ".lock"), timeout=0)
        lock.acquire()
    except filelock.Timeout:
        raise Error(
            f"another sweep is at work in '{output}': wait for it, or name another directory"
        ) from None
    except OSError as error:
        raise Error(f"cannot write in '{output}': {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()
