"""What happens to a recording beside the program itself: one fault at most, chosen at random."""

import os
import resource
import signal
import subprocess
import time
from dataclasses import dataclass, field

from . import processes

MiB = 1 << 20
PAUSES, PAUSE_SECONDS = 8, 0.25
# The shell is the init process, for which signals mean something else, of both runs.
NAMESPACES = ["unshare", "-Urpfm", "--mount-proc", "--", "sh", "-c", '"$@"; exit $?', "sh"]


@dataclass
class Fault:
    """A fault and what it permits. `weight` is how often it is chosen."""

    name: str
    weight: int = 0
    options: list = field(default_factory=list)  # of `heaptape record`
    limits: list = field(default_factory=list)  # of both runs: (resource, value)
    around_both: list = field(default_factory=list)  # words before the program and the recording
    around_target: list = field(default_factory=list)  # words before the program, in both runs
    output: str = "disk"  # or "full", "shm"
    output_bytes: int = 0  # of a "full" one
    act: str = ""  # "kill target", "kill recorder", "stop recorder" or "pause recorder"
    at: float = 0.0  # when, as a part of the plain run's time
    may_lose: bool = False
    may_refuse: bool = False

    def describe(self):
        text = self.name
        if self.act:
            text += f" at {self.at:.2f} of its time"
        for limit, value in self.limits:
            text += f" {value // 1024 if limit == resource.RLIMIT_AS else value}"
        if self.output_bytes:
            text += f" of {self.output_bytes // 1024} KiB"
        return text


def choose(random, excluded):
    """The fault of a run. Always takes as much from `random`."""
    at = random.uniform(0.0, 0.9)
    open_files = random.choice([24, 32, 64, 256])
    address_space = random.choice([1, 2, 4]) * 1024 * MiB
    file_size = random.choice([1, 4, 32]) * MiB
    full = random.choice([128, 512, 2048, 8192]) * 1024
    faults = [
        Fault("none", 12),
        Fault("kill target", 4, act="kill target", at=at),
        Fault("kill recorder", 4, act="kill recorder", at=at),
        Fault("stop recorder", 3, act="stop recorder", at=at, may_lose=True),
        Fault("pause recorder", 2, act="pause recorder", at=at, may_lose=True),
        Fault("on-full drop", 3, options=["--on-full", "drop"], may_lose=True),
        Fault("ulimit -n", 2, limits=[(resource.RLIMIT_NOFILE, open_files)], may_refuse=True),
        Fault("ulimit -v", 1, limits=[(resource.RLIMIT_AS, address_space)],
              may_refuse=True, may_lose=True),
        # Of the program alone: the recorder's memory is a file, larger than most such limits.
        Fault("ulimit -f", 1, around_target=["prlimit", f"--fsize={file_size}", "--"]),
        Fault("full disk", 2, output="full", output_bytes=full, may_lose=True, may_refuse=True),
        Fault("shm", 2, output="shm"),
        Fault("in a container", 2, around_both=NAMESPACES),
        Fault("of a container", 2, around_target=NAMESPACES),
    ]
    draw = random.random()
    faults = [fault for fault in faults if is_possible(fault) and fault.name not in excluded]
    draw *= sum(fault.weight for fault in faults)
    for fault in faults:
        draw -= fault.weight
        if draw < 0:
            return fault
    return faults[0]


def choose_by_name(name, random, excluded=()):
    """A fault of that name."""
    for _ in range(1000):
        if (fault := choose(random, excluded)).name == name:
            return fault
    raise SystemExit(f"soak: there is no fault '{name}' here")


_possible = {}


def is_possible(fault):
    if fault.output == "full":
        return os.geteuid() == 0
    if NAMESPACES in (fault.around_both, fault.around_target):
        if "namespaces" not in _possible:
            tried = subprocess.run([*NAMESPACES, "true"], stderr=subprocess.DEVNULL, check=False)
            _possible["namespaces"] = tried.returncode == 0
        return _possible["namespaces"]
    return True


@dataclass
class Done:
    """What act() did."""

    killed_target: bool = False
    killed_recorder: bool = False
    target: int = 0  # process id, when the recorder was killed or stopped
    stopped_seconds: float = 0.0  # how long the target needed, from the recorder's stop on
    target_was_held: bool = False  # it had not ended when the recorder was let go on


def target_of(recorder):
    below = processes.children(recorder)
    return below[0] if below else 0


def act(fault, program, plain_seconds, patience):
    """Carries the fault out on a recording that has just begun."""
    done = Done()
    if not fault.act or program.wait(fault.at * plain_seconds):
        return done
    # The recorder itself, where it is not below something else.
    recorder = program.pid
    done.target = target_of(recorder)
    if not done.target:
        return done
    if fault.act == "kill target":
        os.kill(done.target, signal.SIGKILL)
        done.killed_target = True
    elif fault.act == "kill recorder":
        os.kill(recorder, signal.SIGKILL)
        done.killed_recorder = True
    elif fault.act == "pause recorder":
        for _ in range(PAUSES):
            os.kill(recorder, signal.SIGSTOP)
            time.sleep(PAUSE_SECONDS)
            os.kill(recorder, signal.SIGCONT)
            if program.wait(PAUSE_SECONDS / 4):
                break
    else:
        begin = time.monotonic()
        os.kill(recorder, signal.SIGSTOP)
        done.target_was_held = not processes.wait_for_pid(done.target, patience)
        done.stopped_seconds = time.monotonic() - begin
        os.kill(recorder, signal.SIGCONT)
    return done
