"""`./dev soak`: records real programs, in random order under random faults; docs/soak.md."""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time

from . import faults, one_run, processes, report, subjects

PRINTED_PER_FINDING = 300


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev soak")
    parser.add_argument("minutes", nargs="?", type=float, default=10, metavar="MINUTES")
    parser.add_argument("seed", nargs="?", type=int, metavar="SEED",
                        help="of every choice; default: random")
    parser.add_argument("--run", type=int, metavar="N", help="only run N of the seed")
    parser.add_argument("--only", metavar="SUBJECT", help="only subjects with this in their names")
    parser.add_argument("--fault", metavar="NAME", help="only this fault")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="repeat --run N times")
    parser.add_argument("--table", metavar="FILE", help="write the table there, as Markdown")
    parser.add_argument("--list", action="store_true", help="list the subjects")
    parser.add_argument("--build", default="build/release", help=argparse.SUPPRESS)
    return parser.parse_args()


class Soak:
    def __init__(self, arguments, place):
        self.arguments, self.place = arguments, place
        self.report = report.Report()
        self.subjects = [subject for subject in subjects.SUBJECTS
                         if (arguments.only or "") in subject.name]
        if not self.subjects:
            raise SystemExit(f"soak: no subject has '{arguments.only}' in its name; --list lists them")

    def subject_of(self, number):
        """Every subject once in each round, in another order each time."""
        order = list(self.subjects)
        round_number, position = divmod(number, len(order))
        random.Random(f"{self.arguments.seed} round {round_number}").shuffle(order)
        return order[position]

    def repeat(self, number):
        options = "".join(f" --{name} '{value}'" for name, value in
                          (("only", self.arguments.only), ("fault", self.arguments.fault)) if value)
        return f"./dev soak 0 {self.arguments.seed} --run {number}{options}"

    def run(self, number):
        subject = self.subject_of(number)
        choices = random.Random(f"{self.arguments.seed} run {number}")
        loops = choices.randrange(3)
        fault = faults.choose(choices, subject.no_faults)
        if self.arguments.fault in subject.no_faults:
            return
        if self.arguments.fault:
            fault = faults.choose_by_name(self.arguments.fault, choices, subject.no_faults)
        with processes.load(loops) as loop_ids:
            result = one_run.Run(self.place, subject, fault, choices, loop_ids).run()
        self.report.add(result, self.repeat(number))
        self.print_run(number, loops, result)

    def print_run(self, number, loops, result):
        beside = f", {loops} loops" if loops else ""
        print(f"{number:5}  {result.subject.name:22}  {result.fault.describe() + beside:44}"
              f"{result.plain.seconds:7.2f} s {result.recorded.seconds:7.2f} s"
              f"{result.calls:12,} calls {result.tapes:5} tapes  {result.outcome()}", flush=True)
        for finding in result.findings:
            print(f"       {finding[:PRINTED_PER_FINDING]}", flush=True)
        if result.findings:
            print(f"       to repeat it: {self.repeat(number)}", flush=True)

    def all_runs(self):
        if self.arguments.run is not None:
            for _ in range(self.arguments.times):
                self.run(self.arguments.run)
            return
        until, number = time.monotonic() + self.arguments.minutes * 60, 0
        while time.monotonic() < until:
            self.run(number)
            number += 1


def write_words(path):
    """The same 4 MiB each time."""
    with open("README.md", encoding="utf-8") as file:
        words = file.read().split()
    choose = random.Random(1).choices
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(60_000):
            file.write(" ".join(choose(words, k=10)) + "\n")


def prepare(arguments, folder):
    """Copies heaptape, so that other users can read it, and text to work on."""
    repository = os.getcwd()
    os.chmod(folder, 0o755)
    for part in ("bin/heaptape", "lib/heaptape"):
        source, copy = f"{arguments.build}/{part}", f"{folder}/{part}"
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, copy)
    os.mkdir(f"{folder}/data")
    for name in ("CHANGELOG.md", "README.md", "LICENSE", "docs/metrics.md", "docs/tape-format.md",
                 "docs/architecture.md", "tests/golden/report-v1.json"):
        shutil.copy(name, f"{folder}/data")
    write_words(f"{folder}/data/words")
    shutil.copytree(f"{arguments.build}/tests/targets", f"{folder}/targets")
    return one_run.Place(folder, repository, f"{folder}/bin/heaptape", f"{folder}/targets")


def print_findings(soak):
    print(f"\n{soak.report.table()}\n\nfaults: {soak.report.faults_text()}")
    for repeat, subject, fault, sentence in soak.report.findings:
        print(f"\n{subject}, {fault}: {sentence}\n  {repeat}")
    print(f"\n{len(soak.report.findings)} findings; seed {soak.arguments.seed}")


def write_table(soak, path, seconds):
    with open(path, "w", encoding="utf-8") as file:
        runs = sum(soak.report.faults.values())
        file.write(f"# The last soak\n\n{seconds / 60:.0f} minutes, {runs} runs, seed {soak.arguments.seed}, "
                   f"{len(soak.report.findings)} findings. Faults: {soak.report.faults_text()}.\n"
                   f"[soak.md](soak.md) explains the columns.\n\n{soak.report.table()}\n")


def main():
    arguments = parse_arguments()
    if arguments.list:
        for subject in subjects.SUBJECTS:
            print(f"{subject.name:24}{subject.packages}")
        return 0
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1_000_000)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    processes.become_subreaper()
    folder = tempfile.mkdtemp(prefix="heaptape-soak-", dir="/tmp")
    begin = time.monotonic()
    interrupted = False
    soak = None
    try:
        soak = Soak(arguments, prepare(arguments, folder))
        print(f"seed {arguments.seed}; {len(soak.subjects)} subjects", flush=True)
        soak.all_runs()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        processes.end_leftovers(settle=0)
        shutil.rmtree(folder, ignore_errors=True)
    if soak:
        print_findings(soak)
        if arguments.table and not interrupted:
            write_table(soak, arguments.table, time.monotonic() - begin)
    return 130 if interrupted else 1 if soak.report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
