"""./dev bench whole-stacks: how many stacks of real programs reach their outermost frame.

Each program is recorded with --stacks dwarf. Of all calls for a block, in all its processes, the
table has the share with a whole stack, and the shares of those that end early, by reason. Rust and
Go programs are built and recorded where rustc, or go and gcc, are installed.

usage: whole_stacks.py HEAPTAPE [NAME...]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

PYTHON = """
import json, re, collections
records = [{"id": i, "name": "user%d" % i, "tags": ["a%d" % (i % 7)]} for i in range(3000)]
assert len(json.loads(json.dumps(records))) == 3000
words = collections.Counter(re.findall(r"[a-z]+[0-9]", json.dumps(records)))
"""

CXX = """
#include <map>
#include <regex>
#include <string>
int main() { return std::regex_match(std::string("a"), std::regex("[b-z]+")) ? 1 : 0; }
"""

SQL = """
create table t(a integer, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into t select i % 100, printf('row %d', i) from n;
create index i on t(b);
select a, group_concat(b), count(*) from t group by a order by 2;
"""

RUST = """
use std::collections::HashMap;
fn build(depth: u32) -> Vec<String> {
    if depth == 0 { return vec![format!("leaf {}", depth)]; }
    let mut all = build(depth - 1);
    all.push(format!("node {}", depth));
    all
}
fn main() {
    let threads: Vec<_> = (0..4u32).map(|t| std::thread::spawn(move || {
        let mut map: HashMap<String, Vec<String>> = HashMap::new();
        for i in 0..500 { map.insert(format!("{} {}", t, i), build(i % 20)); }
        map.len()
    })).collect();
    let total: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    assert_eq!(total, 2000);
}
"""

GO = """
package main

// #include <stdlib.h>
// #include <string.h>
// static char *inner(int n) { char *p = malloc(n + 16); memset(p, 0, n + 16); return p; }
// static char *outer(int n) { char *p = inner(n); p[0] = 1; return p; }
import "C"
import "unsafe"

func ask(n int) *C.char { return C.outer(C.int(n)) }

func main() {
	done := make(chan bool)
	for t := 0; t < 4; t++ {
		go func() {
			for i := 0; i < 1000; i++ {
				p := ask(i)
				C.free(unsafe.Pointer(p))
			}
			done <- true
		}()
	}
	for t := 0; t < 4; t++ {
		<-done
	}
}
"""

REDIS = """
redis-server --port 0 --unixsocket s --save '' --daemonize no >/dev/null 2>&1 &
i=0; while ! [ -e s ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done
redis-benchmark -s s -q -n 5000 -c 10 -t set,get,lpush,sadd,zadd >/dev/null 2>&1
redis-cli -s s shutdown nosave; wait $!
"""

# Name: what it needs, the file to write, what is done before the recording, the command, and the
# programs whose tapes count (none: all).
PROGRAMS = {
    "python3": (["/usr/bin/python3"], ("p.py", PYTHON), "", "PYTHONMALLOC=malloc /usr/bin/python3 p.py", []),
    "g++": (["g++"], ("p.cc", CXX), "", "g++ -O2 -c p.cc -o p.o", []),
    "sqlite3": (["sqlite3"], ("p.sql", SQL), "", "sqlite3 :memory: <p.sql >/dev/null", []),
    "redis-server": (["redis-server"], ("p.sh", REDIS), "", "sh p.sh", ["redis-server", "redis-check-rdb"]),
    "Rust": (["rustc"], ("p.rs", RUST), "rustc -O p.rs -o rust_program", "./rust_program", []),
    "Go with cgo": (["go", "gcc"], ("p.go", GO), "CGO_ENABLED=1 go build -o go_program p.go", "./go_program", []),
}

CUT = re.compile(r"^\((cut: .*)\)$")


def count_ends(heaptape, tape):
    """{how the stack ends: calls}; "whole" is to the outermost frame."""
    dump = subprocess.Popen(
        [heaptape, "dump", tape, "--stacks", "--format", "ndjson"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    calls, ends = Counter(), {None: "without a stack"}
    for line in dump.stdout:
        event = json.loads(line)
        if "frames" in event:
            cut = CUT.match(event["frames"][-1]) if event["frames"] else None
            ends[event["stack"]] = cut[1] if cut else "whole"
        elif "size" in event and event.get("address"):
            calls[event.get("stack")] += 1
    if dump.wait() != 0:
        sys.exit(f"whole_stacks: heaptape dump failed on {tape}")
    result = Counter()
    for stack, count in calls.items():
        result[ends[stack]] += count
    return result


def record(heaptape, name, folder):
    _, (file, text), before, command, executables = PROGRAMS[name]
    Path(folder, file).write_text(text)
    if before:
        subprocess.run(["sh", "-c", before], cwd=folder, check=True)
    subprocess.run(
        [heaptape, "record", "--force", "--stacks", "dwarf", "-o", "t.tape", "--", "sh", "-c", command],
        cwd=folder, check=True, stderr=subprocess.DEVNULL,
    )
    ends = Counter()
    for process in json.loads(Path(folder, "t.tape.manifest.json").read_text())["processes"]:
        program = os.path.basename(process["executable"])
        if program not in ("sh", "dash", "bash") and (not executables or program in executables):
            ends += count_ends(heaptape, os.path.join(folder, process["tape"]))
    return ends


def main():
    heaptape = os.path.abspath(sys.argv[1])
    for name in sys.argv[2:] or PROGRAMS:
        missing = [need for need in PROGRAMS[name][0] if not shutil.which(need)]
        if missing:
            print(f"{name}: left out, there is no {missing[0]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            ends = record(heaptape, name, folder)
        total = ends.total()
        if total == 0:
            sys.exit(f"whole_stacks: {name} made no tape with calls")
        shares = [f"{100 * count / total:.2f} % {end}" for end, count in ends.most_common()]
        print(f"{name}: {total} calls: {', '.join(shares)}", flush=True)


if __name__ == "__main__":
    main()
