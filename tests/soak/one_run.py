"""One run: a subject by itself, then recorded under a fault; what differs is a finding."""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field

from . import checks, faults, processes
from .subjects import PRELUDE, Subject

# A stopped recorder may hold each process up for 100 ms. What a run may take beside that, with the
# load of the soak: several times the plain run, and a while.
STOP_PATIENCE_SECONDS = 8
TIMES_SLOWER = 8
SLACK_SECONDS = 15
STOPPED_TIMES_SLOWER = 4
STOPPED_SLACK_SECONDS = 3


@dataclass
class Place:
    """Where the soak works, and what it runs."""

    folder: str  # of the soak; goes with it
    repository: str
    heaptape: str
    targets: str

    @property
    def work(self):
        return f"{self.folder}/work"

    def environment(self):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.work, "LANG": "C.UTF-8",
                "TZ": "UTC", "USER": "soak", "TERM": "dumb", "PYTHONHASHSEED": "0",
                "REPO": self.repository, "DATA": f"{self.folder}/data", "TARGETS": self.targets,
                "BASH_ENV": "", "ENV": ""}


@dataclass
class Result:
    subject: Subject
    fault: faults.Fault
    plain: processes.Ended
    recorded: processes.Ended
    findings: list = field(default_factory=list)
    notices: list = field(default_factory=list)  # what the recorder said
    calls: int = 0
    tapes: int = 0
    unstable: bool = False  # two plain runs differ, too
    refused: bool = False  # the recorder said that it cannot record under this limit

    def outcome(self):
        if self.findings:
            return "FINDING"
        return "refused" if self.refused else "unstable" if self.unstable else "ok"


class Run:
    def __init__(self, place, subject, fault, random, loops):
        self.place, self.subject, self.fault = place, subject, fault
        self.random, self.loops = random, loops
        self.words = ["/bin/sh", "-c", PRELUDE + subject.script]

    def plain(self):
        words = [*self.fault.around_both, *self.fault.around_target, *self.words]
        program = self.start(words)
        ended = program.finish(program.begin + self.subject.seconds)
        ended.left = processes.end_leftovers(self.loops)
        return ended

    def start(self, words):
        shutil.rmtree(self.place.work, ignore_errors=True)
        os.mkdir(self.place.work)
        return processes.Program(words, self.place.work, self.place.environment(),
                                 self.fault.limits)

    def run(self):
        plain = self.plain()
        with Output(self.place, self.fault) as output:
            result = self.record(plain, output)
        return result

    def recording_words(self, output):
        return [*self.fault.around_both, self.place.heaptape, "record", "-o",
                f"{output}/run.tape", *self.fault.options, "--", *self.fault.around_target,
                *self.words]

    def record(self, plain, output):
        limit = plain.seconds * TIMES_SLOWER + SLACK_SECONDS
        program = self.start(self.recording_words(output))
        done = faults.act(self.fault, program, plain.seconds, STOP_PATIENCE_SECONDS)
        deadline = program.begin + limit + done.stopped_seconds
        recorded = program.finish(deadline)
        if done.killed_recorder:
            self.outlive(program, done.target, deadline, recorded)
        recorded.left = processes.end_leftovers(self.loops)
        result = Result(self.subject, self.fault, plain, recorded)
        self.judge(result, done, output)
        return result

    def outlive(self, program, target, deadline, recorded):
        """The target of a recorder that was killed is a child of ours now: how does it end?"""
        recorded.timed_out = not processes.wait_for_pid(target, deadline - time.monotonic())
        recorded.seconds = time.monotonic() - program.begin
        if recorded.timed_out:
            processes.end_all([target])
        try:
            recorded.status = os.waitstatus_to_exitcode(os.waitpid(target, 0)[1])
        except ChildProcessError:  # it ended before the recorder, which had taken its status
            recorded.status = None
        program.with_output(recorded)

    def judge(self, result, done, output):
        recorded, findings = result.recorded, result.findings
        recorded.err, result.notices = split_notices(recorded.err)
        if recorded.timed_out:
            findings.append(f"did not end in {recorded.seconds:.0f} s (alone: {result.plain.seconds:.1f} s)")
        elif self.fault.may_refuse and recorded.status == 2 and result.notices and not recorded.out:
            result.refused = True
            return
        elif done.killed_target:
            if recorded.status not in (-9, result.plain.status):
                findings.append(f"ended with {recorded.status} when its target was killed")
        else:
            findings += self.compare(result)
        if done.target_was_held or done.stopped_seconds > (
                result.plain.seconds * STOPPED_TIMES_SLOWER + STOPPED_SLACK_SECONDS):
            findings.append(f"needed {done.stopped_seconds:.1f} s or more while the recorder was "
                            f"stopped (alone: {result.plain.seconds:.1f} s in all)")
        findings += self.check_tapes(result, done, output)

    def compare(self, result):
        """What differs between the recorded and the plain run, unless plain runs differ, too."""
        different = differences(self.subject, result.plain, result.recorded)
        for _ in range(2 if different else 0):
            again = self.plain()
            if not differences(self.subject, again, result.recorded):
                different = []
            result.unstable |= bool(differences(self.subject, again, result.plain))
        return [] if result.unstable else different

    def check_tapes(self, result, done, output):
        tapes = checks.Tapes(self.place.heaptape, output, self.random)
        may_lose = self.fault.may_lose or result.recorded.timed_out
        if done.killed_recorder:
            yield from tapes.recover()
        else:
            yield from tapes.check(may_lose)
            lost = [notice for notice in result.notices if checks.SAYS_LOST.search(notice)
                    and not re.search(self.subject.may_say, notice)]
            if lost and not may_lose:
                yield f"it says: {lost[0]}" + (f" ({len(lost)} such)" if len(lost) > 1 else "")
        result.calls, result.tapes = tapes.calls, tapes.count
        if left := checks.in_shared_memory():
            yield f"left in /dev/shm: {sorted(left)}"


def split_notices(err):
    """(the program's standard error, the lines of heaptape in it)."""
    lines = err.splitlines(keepends=True)
    ours = [line for line in lines if line.startswith(b"heaptape: ")]
    theirs = b"".join(line for line in lines if not line.startswith(b"heaptape: "))
    return theirs, [line.decode(errors="replace").strip() for line in ours]


def differences(subject, plain, recorded):
    found = []
    if recorded.status is not None and recorded.status != plain.status:
        found.append(f"status {recorded.status} instead of {plain.status}")
    for name in ("out", "err"):
        ours = subject.normalise(getattr(recorded, name)).splitlines()
        theirs = subject.normalise(getattr(plain, name)).splitlines()
        if ours != theirs:
            found.append(f"std{name} differs: {first_difference(theirs, ours)}")
    if extra := [name for name in recorded.left if name not in plain.left]:
        found.append(f"left running: {', '.join(extra[:5])}")
    return found


def first_difference(theirs, ours):
    for i in range(max(len(theirs), len(ours))):
        pair = [lines[i][:160].decode(errors="replace") if i < len(lines) else "(no line)"
                for lines in (ours, theirs)]
        if pair[0] != pair[1]:
            return f"'{pair[0]}' instead of '{pair[1]}'"
    return "in line ends"


class Output:
    """The folder that takes the tapes of a run; gone afterwards."""

    def __init__(self, place, fault):
        self.fault = fault
        self.path = f"/dev/shm/heaptape-test-soak-{os.getpid()}" if fault.output == "shm" else \
            f"{place.folder}/tapes"
        self.mounted = False

    def __enter__(self):
        os.mkdir(self.path)
        if self.fault.output == "full":
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.fault.output_bytes}",
                            "heaptape-soak", self.path], check=True)
            self.mounted = True
        return self.path

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=False)
        shutil.rmtree(self.path, ignore_errors=True)
