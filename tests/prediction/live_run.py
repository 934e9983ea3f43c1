"""Runs a program of programs.py and watches the memory of its heap until it ends."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field

from . import heap_memory, programs
from .heap_memory import HeapMemory

SAMPLE_SECONDS = 0.005

PTRACE_CONT = 7
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_O_TRACEEXIT = 0x40
PTRACE_EVENT_EXIT = 6
MARK = b"HEAPTAPE_PREDICTION=1"
WALL = 0x40000000  # __WALL of waitpid(2)

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


@dataclass
class Figures:
    """The greatest of each, and what it was when the program settled or exited. In bytes."""

    peak: HeapMemory = field(default_factory=HeapMemory)
    end: HeapMemory = field(default_factory=HeapMemory)

    def add(self, sample):
        self.peak.committed = max(self.peak.committed, sample.committed)
        self.peak.resident = max(self.peak.resident, sample.resident)
        self.end = sample


class ExitWatch:
    """Stops a process on its way out, while it still has its memory."""

    def __init__(self, pid):
        self.pid = pid
        if libc.ptrace(PTRACE_SEIZE, pid, None, PTRACE_O_TRACEEXIT) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def is_exiting(self):
        """Lets signals through meanwhile."""
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self.pid, os.WNOHANG | WALL)
            if pid != 0 and os.WIFSTOPPED(status):
                if status >> 16 == PTRACE_EVENT_EXIT:
                    return True
                is_signal = status >> 16 == 0
                self.go_on(os.WSTOPSIG(status) if is_signal else 0)
        return False

    def go_on(self, number):
        libc.ptrace(PTRACE_CONT, self.pid, None, number)

    def let_go(self):
        libc.ptrace(PTRACE_DETACH, self.pid, None, None)


def find_process(session, executable):
    """The first one of that name that runs as `$RUN` says."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            if (os.getsid(int(entry)) != session
                    or os.path.basename(os.readlink(f"/proc/{entry}/exe")) != executable):
                continue
            with open(f"/proc/{entry}/environ", "rb") as environment:
                if MARK in environment.read().split(b"\0"):
                    return int(entry)
    return None


class LiveRun:
    """`wrapper` stands before the program's own words: a variable for env, and heaptape record."""

    def __init__(self, program, folder, wrapper, environment=None, tape=None):
        self.program, self.tape = program, tape
        self.settled = os.path.join(folder, "settled")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.settled)
        self.log = open(os.path.join(folder, "log"), "ab")
        # The shell stays the parent: a traced child of ours would have its stops told to poll().
        text = programs.PRELUDE + program.script + "\nexit $?\n"
        self.script = subprocess.Popen(
            ["sh", "-c", text], cwd=folder, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, "RUN": f"env {MARK.decode()} {wrapper}", "SETTLED": self.settled, "LC_ALL": "C",
                 **(environment or {})})
        self.deadline = time.monotonic() + program.seconds

    def is_over(self):
        if time.monotonic() > self.deadline:
            raise TimeoutError(f"{self.program.name} took more than {self.program.seconds} s")
        return self.script.poll() is not None

    def await_process(self):
        while True:
            pid = find_process(self.script.pid, self.program.executable)
            if pid is not None:
                return pid
            if self.is_over():
                raise RuntimeError(f"{self.program.name} did not run: see {self.log.name}")
            time.sleep(SAMPLE_SECONDS)

    def measure(self):
        """Until the program settles, or exits."""
        figures = Figures()
        pid = self.await_process()
        watch = None if self.program.settles else ExitWatch(pid)
        while True:
            is_last = os.path.exists(self.settled) if watch is None else watch.is_exiting()
            sample = heap_memory.read(pid)
            if sample is not None:
                figures.add(sample)
            if is_last:
                break
            if self.is_over():
                raise RuntimeError(f"{self.program.name} ended too early: see {self.log.name}")
            time.sleep(SAMPLE_SECONDS)
        if watch is not None:
            watch.let_go()
        self.end(pid)
        return figures

    def finish(self):
        """Without a look at its memory."""
        pid = self.await_process()
        while self.program.settles and not os.path.exists(self.settled):
            if self.is_over():
                raise RuntimeError(f"{self.program.name} ended too early: see {self.log.name}")
            time.sleep(SAMPLE_SECONDS)
        self.end(pid)

    def end(self, pid):
        """A program that has settled ends as if the machine had stopped: with all its memory."""
        if self.program.settles:
            os.kill(pid, signal.SIGKILL)
            self.await_tape()
            self.close()
        else:
            while not self.is_over():
                time.sleep(SAMPLE_SECONDS)

    def await_tape(self):
        """The recorder renames it when it is whole."""
        while self.tape and not os.path.exists(self.tape) and time.monotonic() < self.deadline:
            time.sleep(SAMPLE_SECONDS)

    def close(self):
        """Ends what is left of the script."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.script.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.script.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.script.pid, signal.SIGKILL)
        self.script.wait()
        self.log.close()
