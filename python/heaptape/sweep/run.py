"""A sweep from its arguments to its results: `heaptape sweep` for Python."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator, Sequence

from .._native import Error
from ..texts import quantity_text
from .candidates import choose_candidates
from .cells import SweptTape
from .engine import Engine, Lost
from .inspecting import Inspection, Inspections, stamp_of
from .node import FETCHED_BYTES
from .options import Comparison, Machines, ReplayOptions
from .plan import Plan, only_sweep_in, read_plan
from .progress import Progress
from .results import Results, read_terms, write_results
from .selection import choose_tapes
from .swept import Cells, places_of, replay_cells
from .tapes import Found, find_tapes, is_remote
from .task import inspect_tape

PathLike = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Swept:
    """The cells and results of a sweep."""

    cells: Cells
    results: Results
    retried: int  # tasks, after a worker or node died


def sweep(
    tapes: Sequence[PathLike] | PathLike,
    specs: Sequence[str] = (),
    output: PathLike = ".",
    *,
    resolver: str | None = None,
    where: str | None = None,
    options: ReplayOptions | None = None,
    cache: PathLike | None = None,
    comparison: Comparison | None = None,
    fetched_bytes: int = FETCHED_BYTES,
    machines: Machines | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Replays every tape on every candidate; docs/howto-sweep.md describes the arguments.

    Uses the Ray of this process, if it has been started. Raises heaptape.Error.
    """
    words = [tapes] if isinstance(tapes, (str, os.PathLike)) else tapes
    plan = Plan(
        tapes=tuple(find_tapes([os.fspath(word) for word in words], resolver)),
        specs=tuple(specs),
        where=where,
        options=options or ReplayOptions(),
        cache=None if cache is None else os.path.abspath(cache),
        comparison=_from_anywhere(comparison or Comparison()),
        fetched_bytes=fetched_bytes,
    )
    return _carry_out(plan, os.path.abspath(output), machines, progress)


def resume(
    output: PathLike,
    *,
    machines: Machines | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Resumes the sweep in the directory."""
    path = os.path.abspath(output)
    return _carry_out(read_plan(path), path, machines, progress)


def _from_anywhere(comparison: Comparison) -> Comparison:
    """A sweep may be resumed in another directory."""
    against = comparison.against
    if against is None:
        return comparison
    return dataclasses.replace(comparison, against=os.path.abspath(against))


def _carry_out(
    plan: Plan, output: str, machines: Machines | None, progress: Progress | None
) -> Swept:
    progress = progress or Progress(sys.stderr)
    with only_sweep_in(output), _work_in(plan.folder):
        program, candidates = choose_candidates(plan.specs)
        terms = read_terms(
            plan.comparison.gates,
            labels=[one.label for one in candidates],
            baseline=plan.comparison.baseline,
            against=plan.comparison.against,
        )
        plan.write(output)
        with Engine(machines or Machines()) as engine:
            tapes, unreadable = _inspect_tapes(plan, output, engine, progress)
            if plan.where is not None:
                tapes = choose_tapes(tapes, set(unreadable), plan.where)
            _note_cut_tapes(tapes, progress)
            places = places_of(tapes, candidates, program, plan)
            cells = replay_cells(
                plan, output, places, unreadable, program=program, engine=engine, progress=progress
            )
        results = write_results(output, cells, engine=program.json, terms=terms)
    return Swept(cells, results, engine.retried)


def _note_cut_tapes(tapes: Sequence[SweptTape], progress: Progress) -> None:
    cut = [tape.name for tape in tapes if tape.facts.get("finished") is False]
    if cut:
        were = "was" if len(cut) == 1 else "were"
        progress.note(
            f"{quantity_text(len(cut), 'tape')} {were} not finished, {cut[0]} first: "
            "each counts as far as it goes"
        )


@contextlib.contextmanager
def _work_in(folder: str) -> Iterator[None]:
    """Specs may have paths relative to the directory in which the sweep was started."""
    try:
        with contextlib.chdir(folder):
            yield
    except FileNotFoundError as error:
        if error.filename != folder:
            raise
        raise Error(f"the sweep was started in '{folder}', which is gone") from None


def _inspect_tapes(
    plan: Plan, output: str, engine: Engine, progress: Progress
) -> tuple[list[SweptTape], dict[str, str]]:
    """The tapes, and the errors of those that cannot be read, by their URIs."""
    known: dict[str, Inspection | str] = {}
    stamps: dict[str, str | None] = {}
    with contextlib.closing(Inspections(output)) as kept:
        for found in plan.tapes:
            try:
                stamps[found.uri] = stamp_of(found.uri)
                inspection = kept.find(found.uri, stamps[found.uri])
                if inspection is not None:
                    known[found.uri] = inspection
            except Error as error:
                known[found.uri] = str(error)
        anew = [found.uri for found in plan.tapes if found.uri not in known]
        for done, (uri, told) in enumerate(_inspect(anew, plan.fetched_bytes, engine), 1):
            known[uri] = told
            if isinstance(told, Inspection):
                kept.keep(uri, stamps[uri], told)
            progress.show_inspections(done, len(anew))
    tapes = [_tape_of(found, known[found.uri]) for found in plan.tapes]
    return tapes, {uri: told for uri, told in known.items() if isinstance(told, str)}


def _tape_of(found: Found, told: Inspection | str) -> SweptTape:
    digest, facts = ("", {}) if isinstance(told, str) else (told.digest, told.facts)
    return SweptTape(found.name, found.uri, digest, facts, found.metadata)


def _inspect(
    uris: list[str], fetched_bytes: int, engine: Engine
) -> Iterator[tuple[str, Inspection | str]]:
    """Files of this machine in this process, others on the nodes that fetch them."""
    here = [(uri, fetched_bytes) for uri in uris if not is_remote(uri)]
    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for (uri, _), inspected in zip(here, pool.map(inspect_tape, here), strict=True):
            yield uri, inspected
    there = [(uri, fetched_bytes) for uri in uris if is_remote(uri)]
    for (uri, _), told in engine.outcomes(there, inspect_tape):
        yield uri, told.why if isinstance(told, Lost) else told
