"""The candidates of a sweep, as `heaptape allocators --json` describes them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Sequence
from typing import Any

from .._native import Error
from ..files import digest_of
from ..tool import ToolError, program, sentence_of
from .cells import Candidate

_USUAL = ("glibc", "jemalloc", "mimalloc", "tcmalloc")


@dataclasses.dataclass(frozen=True)
class Program:
    """The program that replays."""

    version: str
    build_ids: tuple[str, ...]

    @property
    def json(self) -> dict[str, Any]:
        return {"version": self.version, "buildIds": list(self.build_ids)}


def choose_candidates(specs: Sequence[str]) -> tuple[Program, list[Candidate]]:
    """As this machine's heaptape describes them; without specs, the usual ones that are installed.

    The cells of an unavailable one fail. Raises Error if none is available, and if two have the
    same label.
    """
    told = _allocators(specs)
    engine = Program(told["engine"]["version"], tuple(told["engine"]["buildIds"]))
    here = [
        one for one in told["allocators"] if specs or one["spec"] in _USUAL and one["available"]
    ]
    if not here:
        raise Error(f"none of {', '.join(_USUAL)} is installed: name candidates with -a")
    if not any(one["available"] for one in here):
        raise Error(f"'{here[0]['spec']}' is not available here: see `heaptape allocators`")
    return engine, [_candidate(one) for one in here]


def _candidate(told: dict[str, Any]) -> Candidate:
    library = told.get("library") or None
    build_id = told.get("buildId") or None
    if library is not None and build_id is None:
        build_id = f"sha256:{digest_of(library)}"
    return Candidate(told["label"], told["spec"], library, build_id)


def _allocators(specs: Sequence[str]) -> Any:
    words = ["allocators", "--json", *(word for spec in specs for word in ("-a", spec))]
    try:
        done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Error(f"cannot run '{program()}': {error.strerror}") from None
    if done.returncode != 0:
        raise ToolError(sentence_of(done.stderr), done.returncode)
    return json.loads(done.stdout)
