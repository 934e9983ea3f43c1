"""The programs of `./dev bench prediction`: one table.

Each is a shell script in a folder of its own. `$RUN` stands before the one program whose memory is
looked at: it makes it run on some allocator, or records it. A program that settles says so by
`touch $SETTLED` and stays; it is killed then, with its memory as it is. Others are looked at as they
exit. `$TARGETS` has the programs of tests/e2e/targets.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    name: str
    about: str
    packages: str
    executable: str  # the name of the program's file
    script: str
    settles: bool = False
    preload: str = ""  # a library that its script makes, to be loaded with the allocator
    seconds: int = 240  # the most that it may take


PRELUDE = """
ulimit -s 8192
wait_for() { i=0; while ! [ -e "$1" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done; }
settle() { touch "$SETTLED"; sleep 1000; }
"""

PYTHON_SERVICE = r'''
import json, os, socket, threading
cache = {}
lock = threading.Lock()
def serve(connection):
    with connection, connection.makefile("rwb") as stream:
        for line in stream:
            request = json.loads(line)
            key = request["key"]
            with lock:
                if request["do"] == "put":
                    cache[key] = request["document"]
                elif request["do"] == "drop":
                    cache.pop(key, None)
                answer = {"size": len(cache)}
            stream.write(json.dumps(answer).encode() + b"\n")
            stream.flush()
server = socket.socket(socket.AF_UNIX)
server.bind("service.sock")
server.listen(16)
open("ready", "w").close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
'''

PYTHON_CLIENT = r'''
import json, random, socket, threading
def work(number):
    choose = random.Random(number)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("service.sock")
    with connection, connection.makefile("rwb") as stream:
        def ask(**request):
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            stream.readline()
        for i in range(1500):
            document = {"id": i, "name": "n" * choose.randrange(400),
                        "tags": [f"tag {choose.randrange(10**6)}" for _ in range(choose.randrange(60))],
                        "rows": [{"at": j, "value": choose.random()} for j in range(choose.randrange(40))]}
            ask(do="put", key=f"{number}/{choose.randrange(1200)}", document=document)
        for i in range(1200):
            if choose.randrange(10) != 0:
                ask(do="drop", key=f"{number}/{i}")
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
'''

ALIGNED_BLOCKS = r'''
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>
enum { kSlots = 20000 };
static char *slots[kSlots];
static unsigned long long state = 1;
static size_t below(size_t limit) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (size_t)(state >> 33) % limit;
}
static size_t any_size(void) { return below(100) == 0 ? below(20000) : 1 + below(400); }
static char *any_block(size_t size) {
  return below(20) == 0 ? memalign((size_t)16 << below(12), size) : malloc(size);
}
int main(void) {
  for (long i = 0; i < 11000000; ++i) {
    char **slot = &slots[below(kSlots)];
    const size_t size = any_size();
    if (*slot && below(4) != 0) {
      free(*slot);
      *slot = NULL;
      continue;
    }
    *slot = *slot ? realloc(*slot, size) : any_block(size);
    for (size_t at = 0; at < size; at += 4096) (*slot)[at] = 1;
  }
  _exit(0);
}
'''

LUA_WORK = r'''
local held = {}
for i = 1, 300000 do
  held["key " .. i] = {number = i, text = ("v"):rep(10 + i * 31 % 100), list = {i, i + 1, i + 2}}
end
for i = 1, 300000 do
  if i % 20 ~= 0 then held["key " .. i] = nil end
end
collectgarbage()
for i = 1, 20000 do held["more " .. i] = {i} end
'''

PROGRAMS = [
    Program("redis", "2 I/O threads and 3 others; 250,000 keys set, most deleted, 12 s idle",
            "redis-server redis-tools gcc", "redis-check-rdb", r"""
rm -f r.sock
# It would load jemalloc whatever serves malloc, and jemalloc would take 8 MiB then.
echo 'int mallctl(void) { return 1; } void malloc_stats_print(void) {}
size_t nallocx(size_t n, int f) { return n; }' | sed '1i #include <stddef.h>' >stand_in.c
gcc -w -shared -fPIC -Wl,-soname,libjemalloc.so.2 stand_in.c -o stand_in.so
$RUN redis-server --port 0 --unixsocket r.sock --save '' --io-threads 2 --jemalloc-bg-thread no --loglevel warning &
wait_for r.sock
redis-benchmark -s r.sock -c 20 -P 16 -n 300000 -r 250000 -d 120 -q SET key:__rand_int__ __data__
redis-benchmark -s r.sock -c 20 -P 16 -n 500000 -r 250000 -q DEL key:__rand_int__
sleep 12
settle
""", settles=True, preload=":./stand_in.so"),
    Program("Python service", "a thread for each of 8 clients, a cache of JSON documents, most dropped",
            "python3", "python3.11", f"""
cat >service.py <<'END'
{PYTHON_SERVICE}
END
cat >client.py <<'END'
{PYTHON_CLIENT}
END
rm -f ready service.sock
PYTHONMALLOC=malloc PYTHONHASHSEED=1 $RUN /usr/bin/python3 service.py &
wait_for ready
/usr/bin/python3 client.py
settle
""", settles=True),
    Program("Python, idle", "400,000 small dictionaries, 99 of 100 freed, 25 s idle, a little more work",
            "python3", "python3.11", r"""
cat >idle.py <<'END'
import os, time
held = [{"number": i, "name": str(i)} for i in range(400000)]
held = held[::100]
time.sleep(25)
more = [{"number": i} for i in range(3000)]
open(os.environ["SETTLED"], "w").close()
time.sleep(1000)
END
PYTHONMALLOC=malloc PYTHONHASHSEED=1 $RUN /usr/bin/python3 idle.py
""", settles=True),
    Program("sqlite3", "a table in memory with an index, half of it deleted", "sqlite3", "sqlite3", r"""
cat >work.sql <<'END'
CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, b BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO t SELECT i, hex(i * 7919 % 1000003), zeroblob(50 + i % 200) FROM n;
CREATE INDEX by_a ON t(a);
DELETE FROM t WHERE k % 4 < 2;
SELECT count(*), sum(length(b)) FROM t GROUP BY substr(a, 1, 2);
.shell touch "$SETTLED"; sleep 1000
END
$RUN sqlite3 :memory: <work.sql
""", settles=True),
    Program("perl", "a hash of 300,000 strings, most deleted, 12 s idle", "perl", "perl", r"""
cat >work.pl <<'END'
my %held;
for my $i (1 .. 300000) { $held{"key $i"} = "v" x (10 + $i * 31 % 200) }
for my $i (1 .. 300000) { delete $held{"key $i"} if $i % 20 }
sleep 12;
$held{"more $_"} = "w" x 50 for 1 .. 5000;
open my $settled, ">", $ENV{SETTLED};
sleep 1000;
END
PERL_HASH_SEED=1 $RUN perl work.pl
""", settles=True),
    Program("Lua", "300,000 tables with strings, most dropped, more made", "lua5.4", "lua5.4", f"""
cat >work.lua <<'END'
{LUA_WORK}
END
$RUN lua5.4 work.lua
"""),
    Program("aligned blocks", "11 M calls, one block in 20 at a multiple of 16 bytes to 32 KiB", "gcc",
            "aligned_blocks", f"""
cat >aligned_blocks.c <<'END'
{ALIGNED_BLOCKS}
END
gcc -O1 -fno-builtin aligned_blocks.c -o aligned_blocks
$RUN ./aligned_blocks
"""),
    Program("jq", "20 MB of JSON grouped and summed up", "jq python3", "jq", r"""
/usr/bin/python3 -c '
import json, random
choose = random.Random(1)
print(json.dumps([{"id": i, "group": choose.randrange(5000), "name": "n" * choose.randrange(60),
                   "values": [choose.randrange(1000) for _ in range(choose.randrange(12))]}
                  for i in range(120000)]))' >in.json
$RUN jq -c 'group_by(.group) | map({group: .[0].group, count: length, sum: (map(.values | add) | add)})' in.json | tail -c 100
"""),
    Program("git pack-objects", "4 threads, the headers of this machine's libraries", "git", "git", r"""
if ! [ -e repository ]; then
  git init -q repository && cp -r /usr/include/. repository/ && cd repository &&
    git -c gc.auto=0 add . && git -c user.name=a -c user.email=a@b commit -qm all && cd ..
fi
cd repository
git rev-list --objects --all >../objects
$RUN git pack-objects -q --threads=4 --window=50 --no-reuse-delta --stdout <../objects >../pack
"""),
    Program("xz", "4 threads, 60 MB of text", "xz-utils", "xz", r"""
[ -e text ] || for i in 1 2 3; do seq $((i * 10000000)) $((i * 10000000 + 2222222)); done >text
$RUN xz -T4 -3 -k -c text >text.xz
"""),
    Program("shared blocks", "8 threads that free and resize each other's blocks", "",
            "replay_shared_blocks", """
$RUN "$TARGETS/replay_shared_blocks" 8 2000000
"""),
]


def packages():
    return sorted({package for program in PROGRAMS for package in program.packages.split()})
