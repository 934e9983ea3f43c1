"""`./dev bench process`: does the memory of a process that heaptape shows agree with what the kernel says of it?

Records real programs (programs.py). At their peak, their plateau and their end they are stopped, and /proc/PID/smaps
is read from outside; a mark on the tape finds the sample to compare it with. Ends with 1 where a sum of anonymous
memory is more than 1 % away from that of smaps, or the verdict does not say what it should.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import smaps
from .programs import PRELUDE, PROGRAMS

POINTS = ("peak", "plateau", "end")
MOST_AWAY = 0.01
LEAST_SHARE = 0.2  # as in replayer/report/run_summary.cc
LEAST_OWNED = 0.95
LEAST_BESIDE = 4 << 20  # below, a few pages without an owner count for much
REST_SECONDS = 0.25  # before and after a mark: samples are 100 ms apart
RUN_SECONDS = 0.7  # from stop to stop of a program without points
REPO = Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench process", formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{one.name}: {' '.join(one.needs.values())}" for one in PROGRAMS))
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="only programs with this in their names")
    parser.add_argument("--packages", action="store_true", help="print the packages that are missing")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep tapes and reports there")
    parser.add_argument("--build", default="build/release", help=argparse.SUPPRESS)
    return parser.parse_args()


def chosen(names):
    def is_chosen(program):
        return not names or any(name.lower() in program.name.lower() for name in names)
    return list(filter(is_chosen, PROGRAMS))


def missing(program):
    return [package for thing, package in program.needs.items()
            if not shutil.which(thing) and not os.path.exists(thing)]


def descendants(pid):
    """Of one process, in no order. Those that end meanwhile are left out."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/stat") as file:
            parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def find_process(root, pattern):
    for pid in descendants(root):
        with contextlib.suppress(OSError):
            executable = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if re.search(pattern, f"{executable} {words}"):
                return pid
    return None


class Skipped(Exception):
    pass


class Bench:
    def __init__(self, build, program, folder):
        self.heaptape, self.program, self.folder = os.path.join(build, "bin/heaptape"), program, Path(folder)
        self.tape = self.folder / "run.tape"
        self.pid, self.seen = None, {}

    def measure(self):
        with open(self.folder / "log", "wb") as log:
            script = subprocess.Popen(
                ["sh", "-ec", PRELUDE + self.program.script], cwd=self.folder, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "RUN": f"{self.heaptape} record --force -o {self.tape} --", "REPO": str(REPO)})
            try:
                (self.look_at_points if self.program.has_points else self.look_again_and_again)(script)
                if script.wait() == 77:
                    raise Skipped((self.folder / "log").read_text(errors="replace").splitlines()[-1])
                if script.returncode != 0 or self.pid is None:
                    raise SystemExit(f"process: {self.program.name} failed: see {self.folder}/log (with --keep)")
            finally:
                for pid in [*descendants(script.pid), script.pid] if script.poll() is None else []:
                    os.kill(pid, signal.SIGKILL)
        return self.compare()

    def look_at_points(self, script):
        for point in POINTS:
            file = self.folder / point
            while not file.exists():
                if script.poll() is not None:
                    return
                time.sleep(0.02)
            self.pid = self.pid or find_process(script.pid, self.program.process)
            self.look(point)
            file.unlink()

    # The greatest sum is the peak.
    def look_again_and_again(self, script):
        while script.poll() is None:
            if self.pid is None:
                self.pid = find_process(script.pid, self.program.process)
                time.sleep(0.02)
                continue
            time.sleep(RUN_SECONDS)
            with contextlib.suppress(OSError, subprocess.CalledProcessError):  # it has ended
                self.look(f"stop{len(self.seen) + 1}")

    def look(self, point):
        os.kill(self.pid, signal.SIGSTOP)
        try:
            time.sleep(REST_SECONDS)
            subprocess.run([self.heaptape, "ctl", str(self.pid), "mark", point], check=True, capture_output=True)
            self.seen[point] = smaps.read(self.pid)
            time.sleep(REST_SECONDS)
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def points(self):
        """{name: name on the tape}"""
        if self.program.has_points:
            return {point: point for point in POINTS}
        stops = list(self.seen)
        peak = max(stops, key=lambda stop: self.seen[stop].anonymous)
        return {"peak": peak, "plateau": stops[len(stops) // 2], "end": stops[-1]}

    def compare(self):
        report = self.folder / "report.json"
        processes = json.loads(Path(f"{self.tape}.manifest.json").read_text())["processes"]
        tape = [one["tape"] for one in processes if one["pid"] == self.pid][-1]
        words = [self.heaptape, "replay", str(self.folder / tape), "-o", str(report)]
        for allocator in ("recorded", "model:ptmalloc", "model:slabs"):
            words += ["-a", allocator]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        said = json.loads(report.read_text())
        moments = {one["name"]: one["process"] for one in said["moments"]}
        rows = [Row(point, self.seen[mark], moments[f"mark:{mark}"]) for point, mark in self.points().items()]
        return rows, moments["peak"], verdict_of(said)


def mib(size):
    return f"{size / (1 << 20):.2f}"


@dataclass(frozen=True)
class Row:
    point: str
    kernel: smaps.Memory
    ours: dict  # `process` of a moment

    def away(self):
        return self.ours["anonymousBytes"] / self.kernel.anonymous - 1

    def owned(self):
        """The part of what is beside malloc that is a stack's or an owner's."""
        parts = self.ours["anonymous"]
        known = parts["stackBytes"] + sum(one["bytes"] for one in parts.get("owners", []))
        return known / max(parts["besideMallocBytes"], 1)

    def text(self):
        parts = self.ours["anonymous"]
        pairs = [(self.kernel.stacks, parts["stackBytes"]), (self.kernel.files, self.ours["fileBytes"]),
                 (self.kernel.shared, self.ours["sharedBytes"]), (self.kernel.huge, self.ours["hugeBytes"])]
        cells = [self.point, f"{mib(self.kernel.anonymous)} / {mib(self.ours['anonymousBytes'])}",
                 f"{self.away() * 100:+.2f} %", f"{mib(parts['mallocBytes'])} + {mib(parts['besideMallocBytes'])}", f"{self.owned() * 100:.1f} %",
                 *(f"{mib(theirs)} / {mib(ours)}" for theirs, ours in pairs)]
        return f"| {' | '.join(cells)} |"


def verdict_of(report):
    """Its sentences, what matters most first."""
    text = []
    for finding in report["verdict"].get("findings", []):
        text += [finding["evidence"], finding["action"]]
    return [line for line in text if line]


def complaints(program, rows, peak, verdict):
    for row in rows:
        if abs(row.away()) > MOST_AWAY:
            yield f"{row.point}: {row.away() * 100:+.2f} % away from smaps"
        if row.ours["anonymous"]["besideMallocBytes"] >= LEAST_BESIDE and row.owned() < LEAST_OWNED:
            yield f"{row.point}: {row.owned() * 100:.1f} % of what is beside malloc has an owner"
    if program.beside is None:  # its peak is so short that samples may miss it
        return
    share = peak["anonymous"]["besideMallocBytes"] / peak["anonymousBytes"]
    says_so = bool(verdict) and "beside malloc" in verdict[0]
    if says_so != (share >= LEAST_SHARE):
        yield f"{share * 100:.1f} % is beside malloc, and the verdict begins otherwise"
    if says_so != bool(program.beside):
        yield "the verdict should begin with what is beside malloc" if program.beside else "most should be malloc's"
    if program.beside and program.beside not in "\n".join(verdict):
        yield f"the verdict does not name {program.beside}"


def show(program, rows, peak, verdict):
    print(f"\n**{program.name}**\n")
    print("| point | anonymous | away | malloc + beside malloc | owned | stacks | files | shared | huge |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(row.text())
    print()
    for owner in max(rows, key=lambda row: row.ours["anonymousBytes"]).ours["anonymous"].get("owners", [])[:5]:
        print(f"- {owner['owner']} {mib(owner['bytes'])}")
    print()
    for line in verdict or ["(no verdict)"]:
        print(f"> {line}")
    wrong = list(complaints(program, rows, peak, verdict))
    for line in wrong:
        print(f"- not right: {line}")
    sys.stdout.flush()
    return not wrong


def main():
    arguments = parse_arguments()
    programs = chosen(arguments.programs)
    if arguments.packages:
        print(*sorted({package for one in programs for package in missing(one)}))
        return 0
    print("MiB, smaps / heaptape")
    are_right = True
    for program in programs:
        if lacks := missing(program):
            print(f"\n**{program.name}**: skipped: {', '.join(lacks)} is not installed")
            continue
        folder = tempfile.mkdtemp(prefix="heaptape-process-", dir=arguments.keep)
        os.chmod(folder, 0o755)
        try:
            are_right &= show(program, *Bench(os.path.abspath(arguments.build), program, folder).measure())
        except Skipped as reason:
            print(f"\n**{program.name}**: skipped: {reason}")
        finally:
            if not arguments.keep:
                shutil.rmtree(folder)
    return 0 if are_right else 1


if __name__ == "__main__":
    sys.exit(main())
