"""./dev bench speed: do replays rank allocators by time as the live programs do?

Each program grows strings, buffers or JSON. It is recorded on glibc, and its tape replayed on four
allocators, three times each; then it runs live on each of them in turn, nine times. Of live runs the
table has the median of the processor time, whole and for each call: what the program itself takes is
in it. A pair of allocators counts as ranked when the live medians are further apart than the live
runs of either spread (half of the distance between the quartiles), and the replays' by a twentieth.

usage: allocator_speed.py HEAPTAPE [NAME...]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

from cpu_time import cpu_seconds, half_spread

LIVE_RUNS = 9
REPLAYS = 3
FAMILIES = ("glibc", "jemalloc", "mimalloc", "tcmalloc")
CLOSE = 0.05

STEPS = """
#include <stdlib.h>
int main() {
  long sum = 0;
  for (int round = 0; round < 15; ++round) {
    long* numbers = 0;
    for (long i = 1; i < 200000; ++i) {
      numbers = (long*)realloc(numbers, i * sizeof(long));
      numbers[i - 1] = i;
    }
    sum += numbers[round];
    free(numbers);
  }
  return sum == 0;
}
"""

STRINGS = """
#include <string>
#include <vector>
int main() {
  std::vector<std::string> kept(2000);
  unsigned random = 1;
  for (int round = 0; round < 400000; ++round) {
    random = random * 1664525 + 1013904223;
    std::string& text = kept[(random >> 8) % kept.size()];
    if (text.size() > 1500) std::string().swap(text);
    text.append(20 + (random >> 20) % 200, 'x');
  }
  return kept[0].size() > 100000;
}
"""

BUFFERS = """
#include <cstring>
#include <vector>
int main() {
  std::vector<std::vector<char>> buffers(64);
  unsigned random = 1;
  size_t sum = 0;
  for (int round = 0; round < 60000; ++round) {
    random = random * 1664525 + 1013904223;
    std::vector<char>& buffer = buffers[(random >> 8) % buffers.size()];
    const size_t wanted = size_t{64} << ((random >> 20) % 11);
    while (buffer.size() < wanted) buffer.resize(buffer.empty() ? 64 : 2 * buffer.size(), 'x');
    sum += buffer.size();
    if (random >> 30 == 0) std::vector<char>().swap(buffer);
  }
  return sum == 0;
}
"""

TREE = """
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Value {
  std::map<std::string, std::unique_ptr<Value>> members;
  std::vector<std::string> items;
};
static std::unique_ptr<Value> make(int depth, unsigned& random) {
  auto value = std::make_unique<Value>();
  for (int i = 0; i < 4; ++i) {
    random = random * 1664525 + 1013904223;
    value->items.push_back(std::string(10 + (random >> 20) % 60, 'v'));
    if (depth > 0) value->members["a longer name of a member " + std::to_string(i)] = make(depth - 1, random);
  }
  return value;
}
int main() {
  unsigned random = 1;
  for (int i = 0; i < 30; ++i) make(6, random);
  return random == 0;
}
"""

PYTHON_JSON = """
import json
records = [{"id": i, "name": "user%d" % i, "tags": ["a%d" % (i % 7), "b" * (i % 50)]} for i in range(20000)]
for _ in range(4):
    assert len(json.loads(json.dumps(records))) == 20000
"""

PYTHON_TEXT = """
lines = []
for i in range(3000):
    text = b""
    for k in range(60):
        text += b"%d," % (i * k)
    grown = bytearray()
    for k in range(100):
        grown += text[: k + 1]
    lines.append(bytes(grown))
    if len(lines) > 500:
        lines.clear()
"""

# Name: suffix of the source, the source, and the command behind it.
PROGRAMS = {
    "steps": (".c", STEPS, ()),
    "strings": (".cc", STRINGS, ()),
    "buffers": (".cc", BUFFERS, ()),
    "tree": (".cc", TREE, ()),
    "python-json": (".py", PYTHON_JSON, ("PYTHONMALLOC=malloc", "/usr/bin/python3")),
    "python-text": (".py", PYTHON_TEXT, ("PYTHONMALLOC=malloc", "/usr/bin/python3")),
}


def libraries(heaptape):
    """The file of each allocator: that which a replay takes."""
    listed = json.loads(subprocess.run([heaptape, "allocators", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    files = {one["spec"]: one.get("library") for one in listed["allocators"]}
    missing = [family for family in FAMILIES if not files.get(family)]
    if missing:
        sys.exit(f"allocator_speed: not installed: {', '.join(missing)}")
    return {family: files[family] for family in FAMILIES}


def prepare(name, folder):
    """The command that runs the program."""
    suffix, text, command = PROGRAMS[name]
    source = os.path.join(folder, name + suffix)
    Path(source).write_text(text)
    if suffix == ".py":
        return ["env", *command, source]
    compiler = "gcc" if suffix == ".c" else "g++"
    program = os.path.join(folder, name)
    subprocess.run([compiler, "-O2", "-fno-builtin", "-o", program, source], check=True)
    return [program]


def replay(heaptape, tape, folder):
    """The calls, by allocator the nanoseconds of one, and those of the loop without any allocator."""
    report = os.path.join(folder, "report.json")
    words = [heaptape, "replay", tape, "--repeat", str(REPLAYS), "-o", report, "-a", "noop"]
    for family in FAMILIES:
        words += ["-a", family]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    noop, *runs = json.loads(Path(report).read_text())["runs"]
    times = {family: run["time"]["nsPerEvent"] for family, run in zip(FAMILIES, runs, strict=True)}
    return int(noop["accounting"]["recorded"]), times, noop["time"]["nsPerEvent"]


def disagreements(live, replayed):
    """The pairs that both rank, and of these the ones ranked otherwise."""
    ranked, wrong = 0, []
    for a, b in combinations(FAMILIES, 2):
        apart = statistics.median(live[a]) - statistics.median(live[b])
        if abs(apart) <= half_spread(live[a]) + half_spread(live[b]):
            continue
        if abs(replayed[a] - replayed[b]) <= CLOSE * max(replayed[a], replayed[b]):
            continue
        ranked += 1
        if (apart > 0) != (replayed[a] > replayed[b]):
            wrong.append(f"{a} and {b}")
    return ranked, wrong


def measure(heaptape, name, folder, files):
    command = prepare(name, folder)
    tape = os.path.join(folder, "run.tape")
    subprocess.run([heaptape, "record", "--force", "-o", tape, "--", *command], check=True)
    events, replayed, loop = replay(heaptape, tape + ".manifest.json", folder)
    live = {family: [] for family in FAMILIES}
    for _ in range(LIVE_RUNS):
        for family in FAMILIES:
            live[family].append(cpu_seconds(["env", f"LD_PRELOAD={files[family]}", *command]))
    medians = {family: statistics.median(live[family]) for family in FAMILIES}
    print(f"{name}: {events:,} calls; the loop of a replay {loop:.1f} ns a call")
    for family in sorted(FAMILIES, key=lambda family: medians[family]):
        print(f"  {family:9} live {medians[family]:6.3f} s +- {half_spread(live[family]):.3f}, all of it "
              f"{medians[family] * 1e9 / events:6.1f} ns a call; replayed {replayed[family]:6.1f}")
    ranked, wrong = disagreements(live, replayed)
    print(f"  {ranked - len(wrong)} of {ranked} pairs in the same order"
          + (f"; not {', '.join(wrong)}" if wrong else ""), flush=True)
    return ranked, len(wrong)


def main():
    heaptape = os.path.abspath(sys.argv[1])
    files = libraries(heaptape)
    ranked = wrong = 0
    for name in sys.argv[2:] or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            of_program = measure(heaptape, name, folder, files)
        ranked, wrong = ranked + of_program[0], wrong + of_program[1]
    print(f"{ranked - wrong} of {ranked} pairs in the same order")


if __name__ == "__main__":
    main()
