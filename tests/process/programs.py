"""The programs of `./dev bench process`: one table.

Each is a shell script in an empty directory. `$RUN` records the program that it stands before. At each of its points
("peak", "plateau", "end") a program, or the script that drives it, makes a file of that name and waits until it is
gone: meanwhile it is stopped and looked at. A program without points is stopped again and again as it runs. Status 77:
it cannot run here, for the reason that it printed last.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    name: str
    process: str  # a regular expression for the recorded process: its executable, a space, its command line
    script: str
    needs: dict  # {a command, or a file: the package that has it}
    beside: str | None  # what the verdict has to name; "": it must not begin with what is beside malloc; None: either
    has_points: bool = True


PRELUDE = """
at() { touch $1; while [ -e $1 ]; do sleep 0.05; done; }
wait_for() { i=0; while ! [ -e "$1" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done; }
as_nobody() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; else "$@"; fi
}
"""

PYTHON = """
cat >p.py <<'END'
import os, time
def at(point):
    open(point, "w").close()
    while os.path.exists(point): time.sleep(0.05)
import numpy, pandas
frame = pandas.DataFrame({"key": numpy.arange(400_000) % 1000, "value": numpy.random.rand(400_000)})
frame["name"] = ["row %d" % i for i in range(400_000)]
groups = frame.groupby("key").agg({"value": "sum", "name": "max"})
at("peak")
del frame
at("plateau")
del groups
at("end")
END
"""
PANDAS = "/usr/lib/python3/dist-packages/pandas"

NODE = r"""
cat >p.js <<'END'
const fs = require("fs");
function at(point) {
  fs.writeFileSync(point, "");
  while (fs.existsSync(point)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
}
let rows = Array.from({length: 500000}, (_, i) => ({i, s: "row " + i}));
let buffers = Array.from({length: 200}, (_, i) => Buffer.alloc(50000, i));
at("peak");
rows = rows.slice(0, 50000);
gc();
at("plateau");
rows = buffers = null;
gc();
at("end");
END
$RUN node --expose-gc p.js
"""

JAVA = r"""
cat >P.java <<'END'
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
class P {
  static void at(String point) throws Exception {
    Files.createFile(Path.of(point));
    while (Files.exists(Path.of(point))) Thread.sleep(50);
  }
  public static void main(String[] words) throws Exception {
    List<String> rows = new ArrayList<>();
    for (int i = 0; i < 1000000; ++i) rows.add("row " + i);
    ByteBuffer direct = ByteBuffer.allocateDirect(20 << 20);
    at("peak");
    rows.subList(1000, rows.size()).clear();
    System.gc();
    at("plateau");
    rows = null;
    System.gc();
    at("end");
  }
}
END
javac P.java
$RUN java -Xmx400m -cp . P
"""

GO = r"""
cat >p.go <<'END'
package main

// #include <stdlib.h>
// #include <string.h>
// static char *filled(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
import "C"
import (
	"fmt"
	"os"
	"runtime/debug"
	"time"
	"unsafe"
)

func at(point string) {
	os.WriteFile(point, nil, 0o600)
	for {
		if _, err := os.Stat(point); err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

var rows []string

func main() {
	var blocks []*C.char
	for i := 0; i < 20000; i++ {
		blocks = append(blocks, C.filled(1000))
	}
	for i := 0; i < 1000000; i++ {
		rows = append(rows, fmt.Sprint("row ", i))
	}
	at("peak")
	for _, block := range blocks {
		C.free(unsafe.Pointer(block))
	}
	at("plateau")
	rows = nil
	debug.FreeOSMemory()
	at("end")
}
END
CGO_ENABLED=1 go build -o go_program p.go
$RUN ./go_program
"""

RUST = r"""
mkdir -p src
cat >Cargo.toml <<'END'
[package]
name = "rust_program"
version = "0.1.0"
edition = "2021"
[dependencies]
CRATE
END
cat >src/main.rs <<'END'
use std::{collections::HashMap, fs, path::Path, thread, time::Duration};
#[global_allocator]
static ALLOCATOR: TYPE = TYPE;
fn at(point: &str) {
    fs::write(point, "").unwrap();
    while Path::new(point).exists() { thread::sleep(Duration::from_millis(50)); }
}
fn main() {
    let mut rows: HashMap<u32, String> = (0..600_000).map(|i| (i, format!("row {i} {}", "x".repeat(50)))).collect();
    at("peak");
    rows.retain(|i, _| i % 10 == 0);
    at("plateau");
    drop(rows);
    at("end");
}
END
cargo fetch --quiet || { echo "crates cannot be fetched"; exit 77; }
cargo build --release --quiet
$RUN target/release/rust_program
"""

REDIS = """
$RUN redis-server --port 0 --unixsocket r.sock --save '' --loglevel warning &
wait_for r.sock
redis-benchmark -s r.sock -c 10 -P 16 -n 200000 -r 150000 -d 300 -q -t set
at peak
redis-benchmark -s r.sock -c 10 -P 16 -n 300000 -r 150000 -q DEL key:__rand_int__
at plateau
redis-cli -s r.sock flushall
at end
redis-cli -s r.sock shutdown nosave
wait $!
"""

POSTGRESQL = """
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
mkdir d
[ "$(id -u)" != 0 ] || chown nobody . d
as_nobody initdb -D d -U u -A trust --no-sync >/dev/null
cat >p.sql <<'END'
SET work_mem = '1GB';
BEGIN;
DECLARE c CURSOR FOR SELECT i, repeat('x', 90) FROM generate_series(1, 400000) i ORDER BY md5(i::text);
FETCH 1 FROM c;
\\! sh at peak
CLOSE c;
\\! sh at plateau
COMMIT;
DECLARE d CURSOR WITH HOLD FOR SELECT i FROM generate_series(1, 100000) i ORDER BY -i;
\\! sh at end
END
echo 'touch $1; while [ -e $1 ]; do sleep 0.05; done' >at
as_nobody $RUN postgres -D d -k "$PWD" -c listen_addresses= -c fsync=off -c autovacuum=off &
wait_for .s.PGSQL.5432
until psql -qh "$PWD" -U u postgres -c 'select 1' >/dev/null 2>&1; do sleep 0.2; done
psql -qh "$PWD" -U u -f p.sql postgres
kill -INT "$(head -n 1 d/postmaster.pid)"
wait $!
"""

RUBY = r"""
cat >p.rb <<'END'
def at(point)
  File.write(point, "")
  sleep 0.05 while File.exist?(point)
end
rows = Array.new(600_000) { |i| "row #{i} " + "x" * 40 }
at "peak"
rows = rows.take(60_000)
GC.start
at "plateau"
rows = nil
GC.start
at "end"
END
$RUN ruby p.rb
"""

# With a new profile it ends soon, and is started again.
LIBREOFFICE = r"""
echo 1 >first.csv
soffice --headless -env:UserInstallation=file://$PWD/profile --convert-to ods first.csv
/usr/bin/python3 -c 'for i in range(200000): print(*range(i, i + 12), sep=",")' >table.csv
$RUN soffice --headless -env:UserInstallation=file://$PWD/profile --convert-to ods table.csv
"""

CARGO = {"cargo": "cargo", "gcc": "gcc"}
PROGRAMS = [
    Program("cc1plus", "^cc1plus ",
            "$RUN g++ -std=c++20 -O2 -I$REPO -c $REPO/schema/tape/tape_reader.cc -o /dev/null\n",
            {"g++": "g++"}, "ggc-min-expand", has_points=False),
    Program("pandas", "^python3", PYTHON + "PYTHONMALLOC=default $RUN /usr/bin/python3 p.py\n",
            {PANDAS: "python3-pandas"}, "PYTHONMALLOC=malloc"),
    Program("pandas, PYTHONMALLOC=malloc", "^python3", PYTHON + "PYTHONMALLOC=malloc $RUN /usr/bin/python3 p.py\n",
            {PANDAS: "python3-pandas"}, ""),
    Program("Node", "^node ", NODE, {"node": "nodejs"}, "--max-old-space-size"),
    Program("Java", "^java ", JAVA, {"javac": "default-jdk-headless"}, "-Xmx"),
    Program("Go with cgo", "^go_program ", GO, {"go": "golang-go", "gcc": "gcc"}, "GOGC"),
    Program("Rust on jemalloc", "^rust_program ",
            RUST.replace("CRATE", 'tikv-jemallocator = "0.6"').replace("TYPE", "tikv_jemallocator::Jemalloc"),
            CARGO, "_RJEM_MALLOC_CONF"),
    Program("Rust on mimalloc", "^rust_program ",
            RUST.replace("CRATE", 'mimalloc = "0.1"').replace("TYPE", "mimalloc::MiMalloc"),
            CARGO, "MIMALLOC_SHOW_STATS"),
    Program("redis on jemalloc", "^redis-", REDIS,
            {"redis-server": "redis-server", "redis-benchmark": "redis-tools"}, ""),
    Program("PostgreSQL", "^postgres postgres: u ", POSTGRESQL, {"/usr/lib/postgresql": "postgresql"}, ""),
    Program("LibreOffice", "^soffice.bin .*table", LIBREOFFICE, {"soffice": "libreoffice-calc-nogui"}, None, has_points=False),
    Program("ruby", "^ruby", RUBY, {"ruby": "ruby"}, "RUBY_GC_HEAP"),
]
