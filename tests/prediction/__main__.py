"""`./dev bench prediction`: would the live program have used as much memory as its replay?

Records programs on glibc, replays the tapes, and runs the same programs live on each allocator;
docs/prediction.md.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

from . import comparison
from .live_run import LiveRun
from .programs import PROGRAMS


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench prediction")
    parser.add_argument("--only", default="", metavar="NAME", help="only programs with this in their names")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="live runs on each allocator")
    parser.add_argument("--table", metavar="FILE", help="write the tables there, as Markdown")
    parser.add_argument("--keep", metavar="FOLDER", help="keep tapes and reports there")
    parser.add_argument("--replay-options", default="", metavar="OPTIONS", help="for heaptape replay")
    parser.add_argument("--build", default="build/release", help=argparse.SUPPRESS)
    return parser.parse_args()


def how():
    system = platform.freedesktop_os_release()["PRETTY_NAME"]
    return (f"`./dev bench prediction {' '.join(sys.argv[1:])}`, {datetime.date.today()}, {system}, "
            f"{os.cpu_count()} processors")


class Bench:
    def __init__(self, arguments, place):
        self.arguments, self.place = arguments, place
        build = os.path.abspath(arguments.build)
        self.heaptape = os.path.join(build, "bin/heaptape")
        self.fidelities = {}
        self.libraries = self.installed()
        self.environment = {"TARGETS": os.path.join(build, "tests/targets")}

    def installed(self):
        """The file of each library: that which a replay takes."""
        listed = subprocess.run([self.heaptape, "allocators", "--json"], stdout=subprocess.PIPE, check=True).stdout
        files = {one["spec"]: one.get("library") for one in json.loads(listed)["allocators"]}
        missing = [name for name in comparison.LIBRARIES if not files.get(name)]
        if missing:
            raise SystemExit(f"prediction: not installed: {', '.join(missing)}")
        return {name: files[name] for name in comparison.LIBRARIES}

    def record(self, program, folder):
        tape = os.path.join(folder, "run.tape")
        wrapper = f"LD_PRELOAD=libc.so.6{program.preload} {self.heaptape} record --force --follow none -o {tape} --"
        if os.path.exists(tape):
            os.unlink(tape)
        run = LiveRun(program, folder, wrapper, self.environment, tape)
        try:
            run.finish()
        finally:
            run.close()
        return tape

    def replay(self, tape, folder):
        report = os.path.join(folder, "report.json")
        words = [self.heaptape, "replay", tape, "-o", report, *self.arguments.replay_options.split()]
        for candidate in comparison.CANDIDATES:
            words += ["-a", candidate]
        with open(os.path.join(folder, "replay.txt"), "w") as table:
            subprocess.run(words, stdout=table, stderr=subprocess.STDOUT, check=True)
        return comparison.read_report(report)

    def live(self, program, folder, library):
        run = LiveRun(program, folder, f"LD_PRELOAD={self.libraries[library]}{program.preload}",
                      self.environment)
        try:
            return run.measure()
        finally:
            run.close()

    def compare(self, program):
        folder = os.path.join(self.place, program.name.replace(" ", "-").replace(",", ""))
        os.makedirs(folder, exist_ok=True)
        report = self.replay(self.record(program, folder), folder)
        self.fidelities[program.name] = comparison.fidelity(report)
        live_runs = {library: [] for library in comparison.LIBRARIES}
        for _ in range(self.arguments.runs):
            for library, figures in live_runs.items():
                figures.append(self.live(program, folder, library))
        return comparison.compare(program.name, live_runs, report)


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the programs
    programs = [program for program in PROGRAMS if arguments.only in program.name]
    if not programs:
        raise SystemExit(f"prediction: no program has '{arguments.only}' in its name")
    place = os.path.abspath(arguments.keep) if arguments.keep else tempfile.mkdtemp(prefix="heaptape-")
    comparisons = []
    try:
        bench = Bench(arguments, place)
        for program in programs:
            found = bench.compare(program)
            print(comparison.summary(found) + "\n")
            print(comparison.markdown(found, [program], bench.fidelities), flush=True)
            comparisons += found
    finally:
        if not arguments.keep:
            shutil.rmtree(place)
    print(comparison.summary(comparisons))
    if arguments.table:
        with open(arguments.table, "w") as table:
            table.write(comparison.page(comparisons, programs, bench.fidelities, how()))


if __name__ == "__main__":
    main()
