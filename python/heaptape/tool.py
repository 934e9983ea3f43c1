"""Runs the program `heaptape`: record, replay and diff."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from ._native import Error
from .report import Report
from .tape import Tape

PathLike = str | os.PathLike[str]


class ToolError(Error):
    """Raised with the program's error message; `status` is its exit status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


def missing_modules(names: Iterable[str]) -> str:
    """Empty if all are installed; else "ray and duckdb: pip install ray duckdb". Imports nothing."""
    missing = [name for name in names if not _is_installed(name)]
    return f"{' and '.join(missing)}: pip install {' '.join(missing)}" if missing else ""


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # a module without __spec__
        return False


def program() -> str:
    """The program to run: $HEAPTAPE, else the one installed beside Python, else the one on PATH."""
    named = os.environ.get("HEAPTAPE")
    if named:
        return named
    for candidate in (_wheel_program(), os.path.join(sysconfig.get_path("scripts"), "heaptape")):
        if candidate is not None and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which("heaptape")
    if found is None:
        raise Error(
            "there is no program heaptape on PATH: install it, or name its file with "
            "HEAPTAPE=/path/to/heaptape"
        )
    return found


@functools.cache
def _wheel_program() -> str | None:
    """The path of the program in an installed wheel, according to its list of files."""
    try:
        files = importlib.metadata.files("heaptape") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.parts[-2:] == ("bin", "heaptape"):
            return os.path.realpath(file.locate())
    return None


@dataclasses.dataclass(frozen=True)
class Recording:
    """The exit status of a recorded command, and its processes' tapes, the first one first."""

    status: int
    tape: Tape
    tapes: list[Tape]


def record(
    command: Sequence[PathLike],
    output: PathLike,
    *,
    stacks: str | None = None,
    follow: str | None = None,
    options: Sequence[str] = (),
) -> Recording:
    """Runs the command, which keeps standard input and output, and records its processes.

    Its standard error is written only after it has ended. `options` are further options of the
    recorder.
    """
    words = [
        "record",
        "-o",
        os.fspath(output),
        *_option("--stacks", stacks),
        *_option("--follow", follow),
        *options,
    ]
    before = _stamp(output)
    status, said = _run([*words, "--", *(os.fspath(word) for word in command)])
    if _stamp(output) == before:
        raise ToolError(sentence_of(said), status)
    sys.stderr.write(said)
    tapes = [Tape(path) for path in _tapes_of(pathlib.Path(output))]
    return Recording(status, tapes[0], tapes)


def replay(
    tape: Tape | PathLike,
    specs: Iterable[str] = (),
    *,
    output: PathLike | None = None,
    options: Sequence[str] = (),
) -> Report:
    """The report of a replay on allocators, named as for `-a` (default: those of the command).

    A run that failed is a row of runs() with `failure.text`. The report stays in `output`, if
    given. `options` are further options of the command.
    """
    allocators = [word for spec in specs for word in ("-a", spec)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json") if output is None else os.fspath(output)
        before = _stamp(path)
        words = ["replay", _path(tape), *allocators, "-o", path, *options]
        status, said = _run(words, stdout=subprocess.DEVNULL)
        if status not in (0, 1) or _stamp(path) == before:
            raise ToolError(sentence_of(said), status)
        report = Report(path)
    if output is None:
        report.path = None
    return report


@dataclasses.dataclass(frozen=True)
class Diff:
    """The output of `heaptape diff --format json`; `passed`: no gate failed."""

    passed: bool
    json: dict[str, Any]


def diff(
    base: Report | PathLike,
    new: Report | PathLike,
    *,
    fail_if: Iterable[str] = (),
    strict: bool = False,
    options: Sequence[str] = (),
) -> Diff:
    """Compares two reports, and judges the new one with gates such as 'peak.committedBytes>+5%'."""
    gates = [word for gate in fail_if for word in ("--fail-if", gate)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            _report_path(report, folder, name)
            for report, name in ((base, "base.json"), (new, "new.json"))
        ]
        words = [
            "diff",
            *paths,
            *gates,
            *(["--strict"] if strict else []),
            "--format",
            "json",
            *options,
        ]
        with open(os.path.join(folder, "diff"), "w+b") as out:
            status, said = _run(words, stdout=out)
            out.seek(0)
            text = out.read()
    if status not in (0, 1) or not text:
        raise ToolError(sentence_of(said), status)
    return Diff(status == 0, json.loads(text))


def _stamp(path: PathLike) -> tuple[int, int] | None:
    """Differs when the program has written the file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _run(words: list[str], stdout: Any = None) -> tuple[int, str]:
    """The exit status, and the text of standard error.

    The text goes to a file: children of a recorded program may hold a pipe for longer than it runs.
    """
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run([program(), *words], stdout=stdout, stderr=said, check=False)
        except OSError as error:
            raise Error(f"cannot run '{program()}': {error.strerror}") from None
        said.seek(0)
        return done.returncode, said.read().decode("utf-8", "replace")


def list_allocators() -> list[dict[str, Any]]:
    """Those that `heaptape allocators --json` lists."""
    with tempfile.TemporaryFile() as listed:
        status, said = _run(["allocators", "--json"], listed)
        if status != 0:
            raise ToolError(sentence_of(said), status)
        listed.seek(0)
        found: list[dict[str, Any]] = json.load(listed)["allocators"]
    return found


def installed_version(allocator: str) -> str:
    """The version of the library of `-a ALLOCATOR`; empty if it is not here, or does not say."""
    listed = list_allocators()
    versions = [str(each.get("version", "")) for each in listed if each["label"] == allocator]
    return versions[0] if versions else ""


def sentence_of(said: str) -> str:
    """The error in the program's standard error."""
    lines = [
        line.removeprefix("heaptape: ")
        for line in said.splitlines()
        if line.startswith("heaptape: ")
    ]
    errors = [line for line in lines if not line.startswith("note: ")]
    return errors[-1] if errors else said.strip() or "heaptape failed and said nothing"


def _option(name: str, value: str | None) -> list[str]:
    return [] if value is None else [name, value]


def _path(tape: Tape | PathLike) -> str:
    return tape.path if isinstance(tape, Tape) else os.fspath(tape)


def _report_path(report: Report | PathLike, folder: str, name: str) -> str:
    """A file with the report: its own may be gone, as that of replay() without an output is."""
    if not isinstance(report, Report):
        return os.fspath(report)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report.json, file)
    return path


def _tapes_of(first: pathlib.Path) -> list[pathlib.Path]:
    """The first process' tape, then the others of its manifest."""
    manifest = first.with_name(first.name + ".manifest.json")
    if not manifest.exists():
        return [first]
    names = [
        process.get("tape") for process in json.loads(manifest.read_text("utf-8"))["processes"]
    ]
    others = [first.with_name(name) for name in names if name and name != first.name]
    return [first, *(path for path in others if path.exists())]
