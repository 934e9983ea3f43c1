"""The cells of a sweep, and the replays of those that the cache lacks."""

from __future__ import annotations

import collections
import dataclasses
import os
import platform
from collections.abc import Callable, Sequence
from typing import overload

from . import node
from .cache import Cache, Stored, key_of
from .candidates import Program
from .cells import Candidate, Cell, SweptTape
from .engine import Engine, Lost
from .plan import Plan
from .progress import Progress
from .task import Job, Outcome, replay_cell


@dataclasses.dataclass(frozen=True)
class Place:
    """A cell before its replay."""

    tape: SweptTape
    candidate: Candidate
    key: str  # of its result in the cache


class Cells(Sequence[Cell]):
    """Tape by tape. A run is read from the cache when it is asked for, and not kept."""

    def __init__(self, places: list[Place], find: Callable[[str], Stored | None]) -> None:
        self._find = find
        self.places = places
        self.errors: dict[int, str] = {}  # by the cell's index
        self.replayed: set[str] = set()  # keys that the cache did not have

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> list[Cell]: ...
    def __getitem__(self, index: int | slice) -> Cell | list[Cell]:
        if isinstance(index, slice):
            return [self._cell(i) for i in range(*index.indices(len(self)))]
        return self._cell(range(len(self))[index])

    def _cell(self, i: int) -> Cell:
        place = self.places[i]
        stored = None if i in self.errors else self._find(place.key)
        if stored is None:
            error = self.errors.get(i, "its result is gone from the cache: resume the sweep")
            return Cell(place.tape, place.candidate, None, error, False, 0.0)
        run = {"label": place.candidate.label, **stored.run}
        cached = place.key not in self.replayed
        return Cell(place.tape, place.candidate, run, None, cached, stored.seconds)


def replay_cells(
    plan: Plan,
    output: str,
    places: list[Place],
    unreadable: dict[str, str],
    *,
    program: Program,
    engine: Engine,
    progress: Progress,
) -> Cells:
    """Replays the missing cells. Afterwards each has a result in the cache, or an error."""
    cache = Cache(plan.cache or os.path.join(output, "cache"))
    timed = plan.options.timed
    nodes = _alike_nodes(engine, progress) if timed and engine.is_cluster else {}
    processors = list(nodes.values())[:1] or [node.processor()]
    cells = Cells(places, lambda key: cache.find(key, plan.options, processors))
    missing = _missing_cells(cells, unreadable)
    jobs = {key: _job(plan, places[of[0]], program) for key, of in missing.items()}
    events = {key: int(places[of[0]].tape.facts["events"]) for key, of in missing.items()}
    order = sorted(jobs.values(), key=lambda job: -events[job.key])
    todo = [events[key] for key, of in missing.items() for _ in of]
    failed = len(cells.errors)
    if jobs:
        engine.start()
    progress.begin(todo, cached=len(cells) - failed - len(todo), failed=failed)
    if timed and jobs and not nodes:
        nodes = _alike_nodes(engine, progress)
    exclusive = nodes if timed else None
    for job, outcome in engine.outcomes(order, replay_cell, exclusive=exclusive):
        error = outcome.why if isinstance(outcome, Lost) else outcome.error
        if isinstance(outcome, Outcome) and outcome.run is not None:
            result = Stored(outcome.run, outcome.seconds)
            cache.keep(job.key, plan.options, outcome.processor, result)
            cells.replayed.add(job.key)
        for i in missing[job.key]:
            if error is not None:
                cells.errors[i] = error
            progress.cell(events[job.key], failed=error is not None)
    return cells


def places_of(
    tapes: Sequence[SweptTape], candidates: Sequence[Candidate], program: Program, plan: Plan
) -> list[Place]:
    return [
        Place(tape, candidate, key_of(tape.digest, candidate, program, plan.options))
        for tape in tapes
        for candidate in candidates
    ]


def _missing_cells(cells: Cells, unreadable: dict[str, str]) -> dict[str, list[int]]:
    """The cells without a result, by its key: tapes may have the same bytes."""
    places: dict[str, list[int]] = collections.defaultdict(list)
    for i, place in enumerate(cells.places):
        if place.tape.uri in unreadable:
            cells.errors[i] = unreadable[place.tape.uri]
        else:
            places[place.key].append(i)
    return {key: of for key, of in places.items() if cells[of[0]].run is None}


def _job(plan: Plan, place: Place, program: Program) -> Job:
    return Job(
        key=place.key,
        uri=place.tape.uri,
        digest=place.tape.digest,
        spec=place.candidate.spec,
        build_id=place.candidate.build_id,
        engine=program,
        options=plan.options,
        fetched_bytes=plan.fetched_bytes,
        folder=plan.folder,
        host=platform.node(),
    )


def _alike_nodes(engine: Engine, progress: Progress) -> dict[str, str]:
    """Nodes with the most common processor: times on others cannot be compared with theirs."""
    told = engine.on_each_node(node.processor)
    counts = collections.Counter(told.values())
    if not counts:
        return {}
    usual, count = counts.most_common(1)[0]
    if len(counts) > 1:
        progress.note(f"times are taken on {usual} alone, which {count} of {len(told)} nodes have")
    return {one: processor for one, processor in told.items() if processor == usual}
