"""sweep.json: the figures of a sweep, its summary and its verdicts (docs/howto-sweep.md)."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable
from typing import Any

from .._native import Error
from ..files import write_whole
from ..run_figures import Figure
from .cells import Candidate
from .grid import Grid

_VERSION = 1
_EXACT = 2**53  # beyond it many readers of JSON round integers, so they are text


def sweep_json(
    grid: Grid, engine: dict[str, Any], summary: dict[str, Any], gates: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "engine": engine,
        "tapes": grid.tapes,
        "candidates": [dataclasses.asdict(candidate) for candidate in grid.candidates],
        "cells": {
            "count": len(grid.tapes) * len(grid.candidates),
            "failed": grid.failed,
            "cached": grid.cached,
            "replaySeconds": grid.seconds,
        },
        "errors": [
            {"candidate": label, "tape": grid.tapes[tape]["tape"], "error": error}
            for label, errors in zip(grid.labels, grid.errors, strict=True)
            for tape, error in sorted(errors.items())
        ],
        "summary": summary,
        "gates": gates,
        "figures": grid.figures,
    }


def write_sweep(path: str | os.PathLike[str], sweep: dict[str, Any]) -> None:
    figures = {
        metric: [[_json_value(value) for value in row] for row in rows]
        for metric, rows in sweep["figures"].items()
    }
    text = json.dumps({**sweep, "figures": figures}, separators=(",", ":"), allow_nan=False)
    write_whole(path, (text + "\n").encode())


def read_sweep(path: str | os.PathLike[str], metrics: Iterable[str]) -> Grid:
    """A sweep.json, or the directory that has it, with at least these figures.

    Figures that it lacks are read from the dataset beside it. Raises heaptape.Error.
    """
    name = os.fspath(path)
    file = os.path.join(name, "sweep.json") if os.path.isdir(name) else name
    sweep = _read(file)
    try:
        grid = _grid(sweep)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise _no_sweep(file) from None
    for metric in dict.fromkeys(metrics):
        if metric not in grid.figures:
            grid.figures[metric] = _from_dataset(file, grid, metric)
    return grid


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as stream:
            sweep = json.load(stream)
    except OSError as error:
        raise Error(f"cannot open '{file}': {error.strerror}") from None
    except (ValueError, RecursionError):
        raise _no_sweep(file) from None
    if not isinstance(sweep, dict) or "candidates" not in sweep:
        raise _no_sweep(file)
    if sweep.get("version") != _VERSION:
        raise Error(
            f"'{file}' is of version {sweep.get('version')}, and this heaptape reads version "
            f"{_VERSION}: sweep again with this one"
        )
    return sweep


def _no_sweep(file: str) -> Error:
    return Error(f"'{file}' is not the sweep.json of a sweep: name one, or the directory of one")


def _grid(sweep: dict[str, Any]) -> Grid:
    grid = Grid(
        tapes=[
            {**tape, "tape": str(tape["tape"]), "digest": tape["digest"]} for tape in sweep["tapes"]
        ],
        candidates=[Candidate(**candidate) for candidate in sweep["candidates"]],
    )
    grid.figures = {
        metric: [[_value(value) for value in row] for row in rows]
        for metric, rows in sweep["figures"].items()
    }
    shape = [len(grid.tapes)] * len(grid.candidates)
    if any([len(row) for row in rows] != shape for rows in grid.figures.values()):
        raise ValueError("rows of another length than there are tapes")
    grid.errors = [{} for _ in grid.candidates]
    names = {tape["tape"]: i for i, tape in enumerate(grid.tapes)}
    for error in sweep["errors"]:
        candidate = grid.labels.index(error["candidate"])
        grid.errors[candidate][names[error["tape"]]] = str(error["error"])
    return grid


def _json_value(value: Figure) -> Figure | str:
    return str(value) if isinstance(value, int) and abs(value) > _EXACT else value


def _value(value: Any) -> Figure:
    if value is None or isinstance(value, int | float):
        return value
    return int(value)


def _from_dataset(file: str, grid: Grid, metric: str) -> list[list[Figure]]:
    cells = os.path.join(os.path.dirname(file), "cells")
    if not os.path.isdir(cells):
        raise Error(
            f"'{file}' has no {metric} of its cells: keep that sweep's directory, whose cells/ has "
            "all"
        )
    from .dataset import read_figure

    found = read_figure(cells, metric)
    return [[found.get((label, tape["tape"])) for tape in grid.tapes] for label in grid.labels]
