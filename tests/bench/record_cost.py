"""./dev bench record: what recording costs whole programs, beside heaptrack and memray.

Each program runs bare and recorded in turn, PAIRS times (10), and under heaptrack, and memray where
it is Python, in each third pair. Columns, medians of the pairs with their quartiles in brackets:

  whole     time of the whole command, recorded / bare
  own       the same of what the program times itself: its loop, or a client's load
  own ns    what recording adds to that, for each call of a thread
  cpu ns    processor time of all processes beyond the bare run, for each call
  bytes     of the tapes, for each call
  heaptrack, memray: their whole command / bare; - where heaptrack would follow no process that works:
             it records none but the first

Behind the table: which share of the calls `--on-full drop` keeps, the time from the end of a
program to that of its recorder beyond the bare program's own, `record -- true` and `exec -- true`, and the machine's
own figures.

usage: record_cost.py HEAPTAPE TARGETS [--pairs N] [--memray PYTHON] [NAME...]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from cpu_time import children_seconds

JSON = """
import json
records = [{"id": i, "name": "user%d" % i, "tags": ["a%d" % (i % 7), "b%d" % (i % 11)],
            "score": i * 1.5, "nested": {"x": i, "y": [i, i + 1]}} for i in range(60000)]
assert len(json.loads(json.dumps(records))) == 60000
"""

GROWTH = """
texts = []
for i in range(30000):
    text = ""
    for j in range(40):
        text += "word %d, " % j
    texts.append(text)
"""

SQL = """
create table t(a integer, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
  insert into t select i % 100, printf('row %d', i) from n;
create index i on t(b);
select a, length(group_concat(b)), count(*) from t group by a order by 2;
"""

CXX = """
#include <map>
#include <regex>
#include <string>
int main() { return std::regex_match(std::string("a"), std::regex("[b-z]+")) ? 1 : 0; }
"""

REDIS_REQUESTS = "100000"

# Prints when the program is about to end.
LAST_WORDS = "import json, time; x = [json.dumps([i]) for i in range(200000)]; print(time.monotonic_ns())"


@dataclass
class Run:
    whole: float  # seconds
    cpu: float
    own: float | None = None  # what the program prints of its time


@dataclass
class Program:
    command: list[str]
    times_itself: bool = False
    threads: int = 1
    python: list[str] = field(default_factory=list)  # what memray is to run
    server: bool = False
    is_one_process: bool = True
    stdin: str = os.devnull


def programs(targets, folder):
    def target(name, *arguments):
        return [os.path.join(targets, name), *arguments]

    def python(name):
        return Program(["/usr/bin/python3", f"{folder}/{name}"], python=[f"{folder}/{name}"])

    return {
        "python3 json": python("records.py"),
        "python3 growth": python("growth.py"),
        "sqlite3": Program(["sqlite3", ":memory:"], stdin=f"{folder}/p.sql"),
        "cc1plus": Program(["g++", "-O2", "-c", f"{folder}/p.cc", "-o", f"{folder}/p.o"], is_one_process=False),
        "redis": Program(["redis-server", "--port", "0", "--unixsocket", f"{folder}/s", "--save", ""],
                         times_itself=True, server=True),
        "git repack": Program(["git", "-C", f"{folder}/repository", "repack", "-adfq", "--threads=1"],
                              is_one_process=False),
        "random loop": Program(target("random_loop", "20000000"), times_itself=True),
        "two threads": Program(target("thread_loop", "2", "5000000"), times_itself=True, threads=2),
    }


def write_inputs(folder):
    for name, text in (("records.py", JSON), ("growth.py", GROWTH), ("p.sql", SQL), ("p.cc", CXX)):
        Path(folder, name).write_text(text)


def make_repository(folder):
    """2,000 commits, each of which changes one of fifty files."""
    stream = []
    for i in range(2000):
        text = "".join(f"line {j} of {i * j % 977}\n" for j in range(100))
        stream.append(f"commit refs/heads/main\ncommitter a <a@b> {i} +0000\ndata 1\nm\n"
                      f"M 644 inline f{i % 50}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "init", "-q", f"{folder}/repository"], check=True)
    subprocess.run(["git", "-C", f"{folder}/repository", "fast-import", "--quiet"],
                   input="".join(stream), text=True, check=True)


def run(program, command):
    """`command` is that of the program, perhaps under a recorder."""
    cpu, begin = children_seconds(), time.monotonic()
    if program.server:
        own = run_server(program, command)
    else:
        with open(program.stdin) as stdin:
            out = subprocess.run(command, check=True, stdin=stdin, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True).stdout
        # Recorders print, too; the program prints one number.
        own = next((float(line) for line in out.splitlines() if line.replace(".", "").isdigit()), None)
    return Run(time.monotonic() - begin, children_seconds() - cpu, own if program.times_itself else None)


def run_server(program, command):
    """Seconds that a client waits for it in all."""
    socket = program.command[program.command.index("--unixsocket") + 1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, **quiet)
    while not os.path.exists(socket):
        if server.poll() is not None:
            sys.exit(f"record_cost: {command[0]} ended with {server.returncode}")
        time.sleep(0.01)
    begin = time.monotonic()
    subprocess.run(["redis-benchmark", "-s", socket, "-q", "-n", REDIS_REQUESTS, "-c", "20", "-r", "100000",
                    "-t", "set,get,lpush,sadd,zadd"], check=True, **quiet)
    own = time.monotonic() - begin
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False, **quiet)
    server.wait()
    return own


def processes_of(tape):
    return json.loads(Path(tape + ".manifest.json").read_text())["processes"]


def text_of(values, digits=2):
    if len(values) < 2:
        return f"{values[0]:.{digits}f}" if values else "-"
    first, middle, third = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.{digits}f} ({first:.{digits}f}-{third:.{digits}f})"


def measure(name, program, heaptape, memray, pairs, folder):
    tape = f"{folder}/t.tape"
    recorded = [heaptape, "record", "--force", "-o", tape, "--", *program.command]
    others = {}
    if shutil.which("heaptrack") and program.is_one_process:
        others["heaptrack"] = ["heaptrack", "-o", f"{folder}/h", *program.command]
    if memray and program.python:
        others["memray"] = [memray, "-m", "memray", "run", "-fqo", f"{folder}/m", *program.python]
    ratios = {"whole": [], "own": [], "heaptrack": [], "memray": []}
    own_ns, cpu_ns = [], []
    run(program, program.command)  # warm-up
    for i in range(pairs):
        bare, ours = run(program, program.command), run(program, recorded)
        calls = sum(int(one["events"]) for one in processes_of(tape))
        ratios["whole"].append(ours.whole / bare.whole)
        cpu_ns.append((ours.cpu - bare.cpu) * 1e9 / calls)
        if bare.own:
            ratios["own"].append(ours.own / bare.own)
            own_ns.append((ours.own - bare.own) * (1e9 * program.threads / calls if program.server else 1))
        for other, command in others.items() if i % 3 == 0 else ():
            ratios[other].append(run(program, command).whole / bare.whole)
    size = sum(int(one["bytes"]) for one in processes_of(tape))
    print(f"| {name} | {calls / 1e6:.2f} M | {text_of(ratios['whole'])} | {text_of(ratios['own'])} | "
          f"{text_of(own_ns, 1)} | {text_of(cpu_ns, 1)} | {size / calls:.3f} | {text_of(ratios['heaptrack'])} | "
          f"{text_of(ratios['memray'])} |", flush=True)


def kept_share(heaptape, command, folder):
    tape = f"{folder}/d.tape"
    subprocess.run([heaptape, "record", "--force", "--on-full", "drop", "-o", tape, "--", *command],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kept = sum(int(one["events"]) for one in processes_of(tape))
    lost = sum(int(one["lostEvents"]) for one in processes_of(tape))
    return kept / (kept + lost)


def end_ms(command):
    """From the last words of a program to the end of the command."""
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    words = next(int(line) for line in out.splitlines() if line.isdigit())
    return (time.monotonic_ns() - words) / 1e6


def whole_ms(command):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.monotonic() - begin) * 1e3


def show_ends(heaptape, pairs, folder):
    python = ["/usr/bin/python3", "-c", LAST_WORDS]
    record = [heaptape, "record", "--force", "-o", f"{folder}/e.tape", "--"]
    later = []
    for _ in range(pairs):
        bare = end_ms(python)
        later.append(end_ms([*record, *python]) - bare)
    print(f"from the end of python3 to that of record, beyond python3's own: {text_of(later, 1)} ms")
    starts = {"record": record, "exec": [heaptape, "exec", "-o", f"{folder}/%p.tape", "--"], "bare": []}
    taken = {name: [] for name in starts}
    for _ in range(2 * pairs):
        for name, words in starts.items():
            taken[name].append(whole_ms([*words, "true"]))
    for name, times in taken.items():
        print(f"{name} -- true: {text_of(times, 1)} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heaptape")
    parser.add_argument("targets")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--memray", help="a python3 that has memray")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    os.environ["PYTHONMALLOC"] = "malloc"
    heaptape, targets = os.path.abspath(arguments.heaptape), os.path.abspath(arguments.targets)
    with tempfile.TemporaryDirectory() as folder:
        known = programs(targets, folder)
        unknown = [name for name in arguments.names if name not in known]
        if unknown or arguments.pairs < 1:
            parser.error(f"there is no program '{unknown[0]}': choose among {', '.join(known)}" if unknown
                         else "--pairs is at least 1")
        write_inputs(folder)
        print("| program | calls | whole | own | own ns | cpu ns | bytes | heaptrack | memray |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
        for name in arguments.names or known:
            if name == "git repack":
                make_repository(folder)
            measure(name, known[name], heaptape, arguments.memray, arguments.pairs, folder)
        if not arguments.names:
            for name in ("random loop", "two threads"):
                kept = [kept_share(heaptape, known[name].command, folder) for _ in range(3)]
                print(f"calls kept by --on-full drop, {name}: {100 * statistics.median(kept):.0f} %")
            show_ends(heaptape, arguments.pairs, folder)
    print(subprocess.run([os.path.join(targets, "machine")], check=True, capture_output=True, text=True).stdout, end="")


if __name__ == "__main__":
    main()
