#!/usr/bin/env python3
"""Recordings that are steered at random: start, mark, flush, status and stop, in any order and
again and again, and kills.

    control_sequences.py HEAPTAPE TARGETS [COUNT] [SEED]

Each run records the program `sequence`, whose calls are numbered by their sizes, and compares its own
counters with the tapes of each interval: each call that began after `start` returned and returned
before `stop` was asked for is on a tape, once and in its place, and no other of before or after.
Exits with 1 if a run went wrong, and says which.
"""

import itertools
import json
import mmap
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

FIRST_SIZE, SIZES = 1000, 20000  # as in sequence.c
MOST_SLOTS = 511
STATUS = 7
PATIENCE = 60


class Wrong(Exception):
    """A promise that was not kept."""


def expect(condition, words):
    if not condition:
        raise Wrong(words)


class Counters:
    """The memory that `sequence` shares."""

    def __init__(self, path):
        size = 16 + 16 * MOST_SLOTS
        path.write_bytes(bytes(size))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)

    def calls(self):
        """Of each thread that is there, by its id."""
        slots = struct.iter_unpack("<QQ", self.memory[16:])
        return {thread: calls for thread, calls in slots if thread != 0}

    def stop(self):
        self.memory[:8] = struct.pack("<Q", 1)


class Interval:
    """The numbers of the calls, by thread, around its start and its stop."""

    def __init__(self, before, started):
        # Before its start, no call: after it, all up to the stop.
        self.before = before
        self.started = started
        self.asked_stop = None
        self.stopped = None


class Run:
    def __init__(self, heaptape, targets, folder, choose):
        self.heaptape = heaptape
        self.choose = choose
        self.tape = folder / "run.tape"
        self.counters = Counters(folder / "counters")
        self.steps = []
        self.compared = 0  # calls
        self.threads = choose.choice((1, 2, 5, 16, 64))
        self.processes = choose.choice((1, 1, 2, 3))
        command = choose.choice(("record", "exec"))
        self.is_exec = command == "exec"
        options = ["--paused"] if choose.random() < 0.5 else []
        self.is_paused = bool(options)  # it has never begun
        self.intervals = [] if options else [Interval({}, {})]
        self.is_stopped = False
        self.program = None
        self.words = [heaptape, command, "-o", self.tape, *options, "--",
                      f"{targets}/sequence", folder / "counters", str(self.threads), str(self.processes)]

    def ctl(self, *words, expected=0, target=None):
        self.steps.append(" ".join(words))
        done = subprocess.run([self.heaptape, "ctl", str(target or self.tape), *words], capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        expect(done.returncode == expected, f"ctl {words} ended with {done.returncode}: {done.stderr}")

    def wait_for_calls(self):
        """Each thread has made some."""
        end = time.monotonic() + PATIENCE
        while True:
            calls = self.counters.calls()
            if len(calls) == self.threads * self.processes and min(calls.values()) > 20:
                return
            expect(time.monotonic() < end, "the program makes no calls")
            time.sleep(0.01)

    def steer(self):
        for _ in range(self.choose.randint(0, 9)):
            time.sleep(self.choose.random() * self.choose.choice((0, 0.01, 0.1)))
            action = self.choose.choice(("start", "start", "stop", "stop", "flush", "mark", "status"))
            if action == "start":
                self.start()
            elif action == "stop":
                self.stop()
            elif action == "status":
                self.ctl("status")
            elif action == "flush":
                self.ctl("flush", expected=2 if self.is_stopped else 0)
            else:
                self.ctl("mark", "here", expected=2 if self.is_stopped else 0, target=self.pid())

    def pid(self):
        """That of the program."""
        if self.is_exec:
            return self.program.pid
        children = pathlib.Path(f"/proc/{self.program.pid}/task/{self.program.pid}/children")
        return int(children.read_text(encoding="utf-8").split()[0])

    def start(self):
        if not self.is_stopped and not self.is_paused:
            return self.ctl("start", expected=2)
        before = self.counters.calls()
        self.ctl("start")
        self.is_stopped = self.is_paused = False
        self.intervals.append(Interval(before, self.counters.calls()))
        return None

    def stop(self):
        if self.is_stopped:
            return self.ctl("stop", expected=2)
        if self.is_paused:
            self.intervals.append(None)  # its tapes have no calls
        asked = self.counters.calls()
        self.ctl("stop")
        self.is_stopped, self.is_paused = True, False
        if self.intervals[-1] is not None:
            self.intervals[-1].asked_stop = asked
            self.intervals[-1].stopped = self.counters.calls()
        return None

    def end(self, program):
        how = self.choose.choice(("by itself", "by itself", "SIGTERM", "SIGKILL to all", "SIGKILL to the recorder"))
        self.steps.append(how)
        if how == "by itself":
            self.counters.stop()
        elif how == "SIGTERM":
            os.killpg(program.pid, signal.SIGTERM)
        elif how == "SIGKILL to all":
            os.killpg(program.pid, signal.SIGKILL)
        else:
            self.kill_recorder(program.pid)
            self.counters.stop()
        out = program.communicate(timeout=PATIENCE)[0]
        self.counters.stop()
        if how in ("by itself", "SIGTERM") or (how.endswith("recorder") and self.is_exec):
            expect((program.returncode, out) == (STATUS, "ended\n"), f"it ended with {program.returncode}, {out!r}")
        return how

    def kill_recorder(self, pid):
        if not self.is_exec:
            return os.kill(pid, signal.SIGKILL)
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        recorders = [child for child in children if os.readlink(f"/proc/{child}/exe") == os.path.realpath(self.heaptape)]
        os.kill(int(recorders[0]), signal.SIGKILL)
        return None

    def run(self):
        program = subprocess.Popen(self.words, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.program = program
        try:
            self.wait_for_calls()
            self.steer()
            how = self.end(program)
        finally:
            self.counters.stop()
            if program.poll() is None:
                program.kill()
                program.wait()
        self.check(how)

    def check(self, how):
        lost = how == "SIGKILL to the recorder" and not self.is_stopped
        lost |= how == "SIGKILL to all" and not self.is_exec and not self.is_stopped
        if not lost:
            manifest = pathlib.Path(f"{self.tape}.manifest.json")
            end = time.monotonic() + PATIENCE
            while not manifest.exists() and time.monotonic() < end:
                time.sleep(0.01)
            expect(manifest.exists(), "there is no manifest")
            self.wait_for_names(end)
        if self.is_paused:
            self.intervals.append(None)
        for number, interval in enumerate(self.intervals, 1):
            self.check_interval(number, interval, lost and number == len(self.intervals))
        left = set(range(1, len(self.intervals) + 1))
        expect({number_of(tape) for tape in self.tapes()} <= left, "there are tapes of an interval that was not")

    def wait_for_names(self, end):
        """A recorder in the background may still write the last tapes."""
        while any(tape.suffix == ".partial" for tape in self.tapes()) and time.monotonic() < end:
            time.sleep(0.01)

    def tapes(self):
        directory = self.tape.parent
        return [*directory.glob("run*.tape"), *directory.glob("run*.tape.partial")]

    def check_interval(self, number, interval, lost):
        numbers = {}
        for tape in self.tapes():
            if number_of(tape) == number:
                numbers.update(self.read(tape, lost))
        if interval is None:
            expect(not numbers, "there are calls of before the start")
            return
        last = interval.asked_stop if interval.asked_stop is not None else self.counters.calls()
        for thread, calls in last.items():
            self.check_thread(interval, thread, numbers.get(thread, []), calls, lost)

    def read(self, tape, lost):
        """The numbers of the calls of each thread, by its id, in their order."""
        words = [self.heaptape, "dump", tape, "--format", "ndjson"]
        dumped = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
        info = subprocess.run([self.heaptape, "info", tape, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        if lost and info.returncode != 0:
            return {}  # nothing was saved yet
        expect(dumped.returncode == 0 and info.returncode == 0, f"{tape}: {dumped.stderr} {info.stderr}")
        if not lost:
            verified = subprocess.run([self.heaptape, "verify", tape], capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
            expect(verified.returncode == 0, f"{tape}: {verified.stdout}{verified.stderr}")
        facts = json.loads(info.stdout)
        ids = [thread["id"] for thread in facts.get("threadList", [])]
        inherited = facts["inheritedBlocks"]
        numbers = {}
        for line in dumped.stdout.splitlines():
            call = json.loads(line)
            if "op" in call and inherited > 0:
                inherited -= 1
            elif call.get("op") == "malloc" and FIRST_SIZE <= call["size"] < FIRST_SIZE + SIZES:
                numbers.setdefault(call["thread"], []).append(call["size"] - FIRST_SIZE)
        # An unfinished tape does not say whose its threads were.
        return {ids[thread]: calls for thread, calls in numbers.items()} if ids else {
            (tape, thread): calls for thread, calls in numbers.items()}

    def check_thread(self, interval, thread, numbers, calls, lost):
        for first, second in itertools.pairwise(numbers):
            expect(second == first + 1, f"thread {thread}: {first} comes before {second}")
        self.compared += len(numbers)
        if lost:
            return
        # A call that was under way may be on the tape, or not.
        first = interval.started.get(thread, 0) + (1 if interval.before else 0)
        if calls > first:
            expect(numbers, f"thread {thread} has no calls, of {first} to {calls}")
            expect(numbers[0] <= first, f"thread {thread} begins with {numbers[0]}, not by {first}")
            expect(numbers[-1] >= calls - 1, f"thread {thread} ends with {numbers[-1]}, before {calls - 1}")
        if numbers and interval.before is not None:
            expect(numbers[0] >= interval.before.get(thread, 0), f"thread {thread} begins with {numbers[0]}, before the start")
        if numbers and interval.stopped is not None:
            most = interval.stopped.get(thread, 0)
            expect(numbers[-1] <= most, f"thread {thread} ends with {numbers[-1]}, after the stop: {most}")


def number_of(tape):
    """Of the interval that the tape is of."""
    found = re.match(r"run\.interval-([0-9]+)\.", tape.name)
    return int(found.group(1)) if found else 1


def main():
    heaptape, targets = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    wrong = compared = intervals = 0
    for number in range(seed, seed + count):
        with tempfile.TemporaryDirectory(prefix="heaptape-control-") as folder:
            run = Run(heaptape, targets, pathlib.Path(folder), random.Random(number))
            try:
                run.run()
                compared += run.compared
                intervals += len(run.intervals)
            except (Wrong, subprocess.TimeoutExpired) as error:
                wrong += 1
                print(f"seed {number}: {' '.join(map(str, run.words[1:]))}\n  {', '.join(run.steps)}\n  {error}")
    print(f"{count} runs, {intervals} intervals, {compared:,} calls compared, {wrong} runs wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
