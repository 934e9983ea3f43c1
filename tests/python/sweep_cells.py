"""Cells of sweeps, made by hand and of the tapes of docs/questions."""

import hashlib

from conftest import QUESTIONS

import heaptape
from heaptape.sweep.cells import Candidate, Cell, SweptTape
from heaptape.sweep.results import read_terms, write_results

ENGINE = {"version": "0.1.0", "buildIds": ["ab", "cd"]}
SPECS = ("glibc", "model:ptmalloc", "model:ideal")


def tape(name, digest=None, metadata=None, **facts):
    given = {"events": 1000, "threads": 1, "command": "c", "allocator": "libc", **facts}
    return SweptTape(name, f"/tapes/{name}", digest or f"digest of {name}", given, metadata or {})


def run(resident=None, **more):
    """Of a report: its figures by path, `peak.committedBytes` as peak_committedBytes."""
    made = {"label": "x", "peak": {}, "time": {}}
    if resident is not None:
        made["timeline"] = {"at": [1], "residentBytes": [resident]}
        made["peak"]["residentBytes"] = {"value": resident, "at": 1}
    for name, value in more.items():
        part, _, field = name.partition("_")
        is_peak = part == "peak" and field.endswith(("Bytes", "Count"))
        made.setdefault(part, {})[field] = {"value": value, "at": 1} if is_peak else value
    return made


def cell(of, label, made, error=None, **more):
    candidate = label if isinstance(label, Candidate) else Candidate(label, label)
    given = {"cached": False, "seconds": 0.5, **more}
    return Cell(of, candidate, made, error, **given)


def cells(values, tapes=None):
    """Of {label: [resident bytes of each tape]}; None: the cell failed; "": it has no figure."""
    count = max(map(len, values.values()))
    tapes = tapes or [tape(f"t{i}") for i in range(count)]
    return [
        cell(of, label, None, "it crashed") if value is None else cell(of, label, _run(value))
        for label, row in values.items()
        for of, value in zip(tapes, row, strict=True)
    ]


def _run(value):
    return run() if value == "" else run(value)


def real_cells(specs=SPECS):
    """Of all tapes of docs/questions."""
    made = []
    for path in sorted(QUESTIONS.glob("*.tape")):
        facts = heaptape.Tape(path).facts
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        of = SweptTape(path.stem, str(path), digest, facts, {"kind": path.stem[0]})
        report = heaptape.replay(path, specs)
        made += [cell(of, run["label"], run) for run in report.json["runs"]]
    return made


def results(folder, made, gates=(), **terms):
    """As `heaptape sweep` has them, of gates and of cells."""
    labels = list(dict.fromkeys(each.candidate.label for each in made))
    read = read_terms(gates, labels=labels, **terms)
    folder.mkdir(exist_ok=True)
    return write_results(folder, made, engine=ENGINE, terms=read)
