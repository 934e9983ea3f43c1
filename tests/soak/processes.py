"""Starting programs, watching them, and leaving none behind.

The soak is the subreaper of everything below it: a process whose parent dies becomes its child, so
it can see what a program leaves running, and end it by its id.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

PR_SET_CHILD_SUBREAPER = 36
SETTLE_SECONDS = 2.0  # for what a program sent on its way to end


def become_subreaper() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


@dataclass
class Ended:
    """How a program ended. A negative status is the number of the signal that ended it."""

    status: int = 0
    out: bytes = b""
    err: bytes = b""
    seconds: float = 0.0
    timed_out: bool = False
    left: list[str] = field(default_factory=list)  # names of processes that it left running


class Program:
    """A program in a session of its own; its output goes to files beside `folder`."""

    def __init__(
        self,
        words: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        limits: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.out_path, self.err_path = folder + ".out", folder + ".err"

        def before_exec() -> None:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM,
                           signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))

        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.begin = time.monotonic()
            self.process = subprocess.Popen(words, cwd=folder, env=environment, stdout=out,
                                            stderr=err, stdin=subprocess.DEVNULL,
                                            start_new_session=True, preexec_fn=before_exec)
        self.pid = self.process.pid

    def wait(self, seconds: float) -> bool:
        """True when the program ends within `seconds`."""
        return wait_for_pid(self.pid, seconds)

    def finish(self, deadline: float) -> Ended:
        """Waits until `deadline` of time.monotonic(), and says how the program ended."""
        ended = Ended()
        ended.timed_out = not self.wait(deadline - time.monotonic())
        if ended.timed_out:
            end_all([self.pid, *descendants(self.pid)])
        ended.status = self.process.wait()
        ended.seconds = time.monotonic() - self.begin
        return self.with_output(ended)

    def with_output(self, ended: Ended) -> Ended:
        with open(self.out_path, "rb") as out, open(self.err_path, "rb") as err:
            ended.out, ended.err = out.read(), err.read()
        return ended


def wait_for_pid(pid: int, seconds: float) -> bool:
    """True when the process `pid`, of any parent, ends within `seconds`."""
    try:
        watch = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        return bool(poll.poll(max(0, seconds) * 1000))
    finally:
        os.close(watch)


def _stat(pid: int | str) -> tuple[str, str, int] | None:
    """(name, state, parent) of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:].rsplit(")", 1)
    state, parent = rest.split()[:2]
    return name, state, int(parent)


def name_of(pid: int) -> str:
    stat = _stat(pid)
    return stat[0] if stat else "?"


def children(pid: int) -> list[int]:
    """Of any of its threads, zombies excluded."""
    return [child for child, (_, state, parent) in _all_processes().items()
            if parent == pid and state not in "ZX"]


def _all_processes() -> dict[int, tuple[str, str, int]]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := _stat(entry)):
            found[int(entry)] = stat
    return found


def descendants(pid: int, but: Container[int] = ()) -> list[int]:
    """Living processes below `pid`; those in `but`, and what is below them, are left out."""
    processes, last = _all_processes(), [pid]
    below: list[int] = []
    while last:
        last = [child for child, (_, _, parent) in processes.items()
                if parent in last and child not in but]
        below += last
    return [child for child in below if processes[child][1] not in "ZX"]


def reap(but: Container[int] = ()) -> None:
    """Takes in the ends of children that nobody waits for."""
    for child, (_, state, parent) in _all_processes().items():
        if parent == os.getpid() and state == "Z" and child not in but:
            with contextlib.suppress(OSError):
                os.waitpid(child, os.WNOHANG)


def end_all(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def end_leftovers(but: Container[int] = (), settle: float = SETTLE_SECONDS) -> list[str]:
    """Names of the descendants that go on by themselves; ends them."""
    until = time.monotonic() + settle
    while (rest := descendants(os.getpid(), but)) and time.monotonic() < until:
        time.sleep(0.02)
        reap(but)
    names = sorted(name_of(pid) for pid in rest)
    while rest:
        end_all(rest)
        time.sleep(0.02)
        reap(but)
        rest = descendants(os.getpid(), but)
    reap(but)
    return names


@contextlib.contextmanager
def load(count: int) -> Iterator[list[int]]:
    """`count` busy loops beside what is done meanwhile; gives their ids."""
    loops = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"], start_new_session=True)
             for _ in range(count)]
    try:
        yield [loop.pid for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
