"""The tasks of a worker of Ray: inspect a tape, or replay one on a candidate."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import platform
import select
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any

from .._native import Error
from ..tool import program, sentence_of
from . import node
from .candidates import Program, choose_candidates
from .inspecting import Inspection, inspect
from .options import ReplayOptions
from .slim import slim


@dataclasses.dataclass(frozen=True)
class Job:
    """A cell to replay, with everything that a worker needs."""

    key: str  # of its result in the cache
    uri: str
    digest: str
    spec: str
    build_id: str | None  # of the candidate's library where the sweep was started
    engine: Program  # there
    options: ReplayOptions
    fetched_bytes: int
    folder: str  # where the sweep was started: specs may have relative paths
    host: str  # on which it was started


@dataclasses.dataclass(frozen=True)
class Outcome:
    run: dict[str, Any] | None  # as slim() returns it
    error: str | None
    seconds: float
    processor: str


def inspect_tape(task: tuple[str, int]) -> Inspection | str:
    """`task`: a URI, and Job.fetched_bytes. Returns a sentence if it cannot be read."""
    uri, fetched_bytes = task
    try:
        with node.readable(uri, None, fetched_bytes) as (path, _):
            try:
                inspection = inspect(path)
            except Error as error:
                return str(error).replace(path, uri)
    except Error as error:
        return str(error)
    inspection.facts["path"] = uri
    return inspection


def replay_cell(job: Job) -> Outcome:
    try:
        _check(job.spec, job.build_id, job.engine, job.folder)
        with node.readable(job.uri, job.digest, job.fetched_bytes) as (path, descriptor):
            try:
                run, seconds = _replay(job, path, descriptor)
            except Error as error:
                raise Error(str(error).replace(path, job.uri)) from None
    except Error as error:
        where = "" if platform.node() == job.host else f"on {platform.node()}: "
        return Outcome(None, f"{where}{error}", 0.0, node.processor())
    failure = run.get("failure")
    if failure:
        return Outcome(None, failure.get("text") or "it failed", seconds, node.processor())
    return Outcome(run, None, seconds, node.processor())


@functools.cache
def _check(spec: str, build_id: str | None, engine: Program, folder: str) -> None:
    """Raises Error if this machine would replay with another build. Once in a process."""
    with contextlib.suppress(OSError):  # another machine: specs then have no relative paths
        os.chdir(folder)
    name = platform.node()
    here, (candidate,) = choose_candidates([spec])
    if here != engine:
        raise Error(
            f"on {name}, {program()} is heaptape {_engine_text(here)}, and the sweep was started "
            f"with {_engine_text(engine)}: install the same one there"
        )
    if candidate.build_id != build_id:
        raise Error(
            f"on {name}, {candidate.library} has the build id {candidate.build_id}, and the sweep "
            f"was started with {build_id}: install the same one there"
        )


def _engine_text(engine: Program) -> str:
    return f"{engine.version} ({', '.join(one[:12] for one in engine.build_ids)})"


def _replay(job: Job, path: str, descriptor: int | None) -> tuple[dict[str, Any], float]:
    """The run as slim() returns it, unless it failed, and how long the program took."""
    report = node.report_path()
    words = [program(), "replay", path, "-a", job.spec, "-o", report, *job.options.words()]
    passed = () if descriptor is None else (descriptor,)
    with tempfile.TemporaryFile() as said, contextlib.ExitStack() as stack:
        started = time.monotonic()
        try:
            child = subprocess.Popen(
                [*_setpriv_command(), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=passed,
            )
        except OSError as error:
            raise Error(f"cannot run '{program()}': {error.strerror}") from None
        stack.callback(_remove, report)
        stack.callback(_end, child)
        timeout = job.options.timeout
        if not _has_ended(child, timeout):
            raise Error(f"its replay took longer than {timeout:g} s")
        status = child.wait()
        seconds = time.monotonic() - started
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
        if status < 0:
            raise Error(f"its replay was ended by {signal.Signals(-status).name}")
        if status not in (0, 1) or not os.path.exists(report):
            raise Error(sentence_of(text))
        return _run_of(report), seconds


def _has_ended(child: subprocess.Popen[bytes], timeout: float | None) -> bool:
    """Returns as soon as the child ends; Popen.wait() polls every 50 ms."""
    descriptor = os.pidfd_open(child.pid)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(None if timeout is None else timeout * 1000))
    finally:
        os.close(descriptor)


def _run_of(report: str) -> dict[str, Any]:
    with open(report, encoding="utf-8") as file:
        run: dict[str, Any] = json.load(file)["runs"][0]
    return run if run.get("failure") else slim(run, report)


def _remove(report: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(report)


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.kill()
        child.wait()


@functools.cache
def _setpriv_command() -> tuple[str, ...]:
    """A command that runs another, which the kernel kills when this process dies.

    The replay of a killed worker would otherwise go on beside its retry. A function between
    fork and exec could also do it, but workers of Ray have threads.
    """
    setpriv = shutil.which("setpriv")
    words = (setpriv or "setpriv", "--pdeathsig", "KILL")
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise Error(
            f"on {platform.node()}, there is no setpriv with --pdeathsig: install util-linux"
        ) from None
    return words
