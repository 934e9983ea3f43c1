"""The programs that the soak records: one table.

A subject is a shell script, run in an empty folder that is new for each run. It prints all that
counts (checksums of what it makes), because a recording is compared with a plain run by status,
standard output and standard error. `$REPO` is this repository, `$DATA` a folder of text, 4 MiB,
`$TARGETS` the programs of tests/e2e/targets; `as_nobody` runs a command without root's rights.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    name: str
    packages: str
    script: str
    # Regular expressions of what two runs print differently; each match becomes "~".
    differs: tuple = ()
    # Faults that say nothing about the recorder here.
    no_faults: tuple = ()
    # What heaptape may rightly say of it: a regular expression.
    may_say: str = "(?!)"
    seconds: int = 60  # the most that a plain run may take

    def normalise(self, text):
        for pattern in self.differs:
            text = re.sub(pattern.encode(), b"~", text)
        return text


PRELUDE = """
as_nobody() {
  if [ "$(id -u)" = 0 ] && [ "$(id -u nobody)" = 65534 ] && setpriv --reuid=65534 true 2>/dev/null
  then setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
  else "$@"; fi
}
wait_for() { i=0; while ! [ -e "$1" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done; }
"""

# They would need another address space than a limit leaves, and say so with addresses.
WIDE = ("ulimit -v",)
# They change their user, for which a user namespace of one user has no place.
USERS = ("in a container", "of a container")

C_PROGRAM = r"""
cat >p.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *seed) {
  unsigned long sum = 0, s = (unsigned long)seed;
  char *held[64] = {0};
  for (int i = 0; i < 20000; i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    char **h = &held[(s >> 33) % 64];
    free(*h);
    *h = malloc(16 + (s >> 40) % 900);
    memset(*h, 1, 8);
    sum += s >> 60;
  }
  for (int i = 0; i < 64; i++) free(held[i]);
  return (void *)sum;
}
int main(void) {
  pthread_t t[4];
  unsigned long all = 0;
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)i);
  for (int i = 0; i < 4; i++) { void *r; pthread_join(t[i], &r); all += (unsigned long)r; }
  printf("%lu\n", all);
  return (int)(all % 7);
}
END
"""

SUBJECTS = [
    # Interpreters
    Subject("python3", "python3", r"""
exec /usr/bin/python3 -c '
import json, re, collections
rows = [{"id": i, "name": "n%d" % i, "tags": ["t%d" % (i % k) for k in (3, 5, 7)]} for i in range(60000)]
back = json.loads(json.dumps(rows))
words = collections.Counter(re.findall(r"\w+", json.dumps(back)))
print(len(back), words.most_common(3))'"""),
    Subject("python3 threads", "python3", r"""
exec /usr/bin/python3 -c '
import concurrent.futures, hashlib, subprocess, zlib
def work(i):
    if i % 10 == 0:
        return subprocess.run(["echo", str(i)], stdout=subprocess.PIPE).stdout.decode().strip()
    return hashlib.md5(zlib.compress(bytes(range(256)) * 200 + bytes([i]))).hexdigest()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(list(pool.map(work, range(200)))[::17])'"""),
    Subject("python3 processes", "python3", r"""
cat >m.py <<'END'
import multiprocessing
def work(i): return sum(len(str(i * j)) for j in range(2000))
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(4) as pool: print(sum(pool.map(work, range(60))))
    with multiprocessing.get_context("spawn").Pool(2) as pool: print(sum(pool.map(work, range(9))))
END
exec /usr/bin/python3 m.py"""),
    Subject("python3 on jemalloc", "python3 libjemalloc2", r"""
export PYTHONMALLOC=malloc
LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}libjemalloc.so.2 exec /usr/bin/python3 -c '
d = {str(i): [i] * (i % 50) for i in range(200000)}
print(sum(len(v) for v in d.values()))'"""),
    Subject("perl", "perl", r"""
exec perl -e 'my %h; for my $i (1..600000) { push @{$h{$i % 997}}, "v$i"; }
print scalar(keys %h), " ", length(join ",", map { @{$h{$_}} } sort { $a <=> $b } keys %h), "\n";
print STDERR "to stderr\n"; exit 3'"""),
    Subject("ruby", "ruby", r"""
exec ruby -e 'h = Hash.new { |x, k| x[k] = [] }
400_000.times { |i| h[i % 513] << "s#{i}" }
puts h.values.map(&:size).sum, h.keys.size
t = 4.times.map { |i| Thread.new { (1..20_000).sum { |j| (i * j).to_s.size } } }
puts t.map(&:value).inspect'"""),
    Subject("php", "php-cli", r"""
exec php -r '$a = []; for ($i = 0; $i < 600000; $i++) $a["k" . ($i % 9001)][] = str_repeat("x", $i % 40);
echo count($a), " ", strlen(json_encode($a)), "\n"; preg_match_all("/x+/", json_encode($a), $m);
echo count($m[0]), "\n";'"""),
    Subject("php with opcache", "php-cli", r"""
echo '<?php function f($n) { return $n < 2 ? $n : f($n - 1) + f($n - 2); } $a = []; for ($i = 0; $i < 99999; $i++) $a[] = str_repeat("x", $i % 50); echo count($a), f(27), "\n";' >f.php
exec php -d opcache.enable_cli=1 f.php"""),
    Subject("node", "nodejs", r"""
exec /usr/bin/node -e 'const z = require("zlib"), c = require("child_process");
const rows = Array.from({length: 20000}, (_, i) => ({i, s: "x".repeat(i % 30)}));
console.log(z.deflateSync(JSON.stringify(rows)).length > 1000, rows.length);
console.log(c.execFileSync("echo", ["child"]).toString().trim());'""", no_faults=WIDE),
    Subject("lua", "lua5.4", r"""
exec lua5.4 -e 'local t = {} for i = 1, 2000000 do t[i % 50003] = (t[i % 5003] or "") .. (i % 7) end
local n = 0 for _, v in pairs(t) do n = n + #v end print(n)'"""),
    Subject("tcl", "tcl", r"""
echo 'for {set i 0} {$i < 400000} {incr i} { lappend l([expr {$i % 311}]) "v$i" }
puts [llength [array names l]]; puts [string length [join [lsort $l(7)] ,]]' >p.tcl
exec tclsh p.tcl"""),
    Subject("guile", "guile-3.0", r"""
exec guile --no-auto-compile -c '(display (length (let loop ((i 0) (l (list)))
 (if (= i 900000) l (loop (+ i 1) (cons (number->string i) l))))))(newline)'"""),
    Subject("bash, 1,500 forks", "bash", r"""
exec bash -c 'n=0; for i in {1..1500}; do x=$(echo $i); n=$((n + x)); done; echo $n'"""),
    Subject("dash", "dash", r"""
exec dash -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (for j in 1 2 3; do echo $i$j; done | sort -r | head -n 2) & wait; done
trap "echo trapped" TERM; kill -TERM $$; echo done; exit 5'"""),
    # Compilers and builds
    Subject("gcc", "gcc libc6-dev", C_PROGRAM + r"""
gcc -O2 -Wall -Wunused-macros -pthread p.c -o p && ./p"""),
    Subject("g++", "g++", r"""
cd "$REPO" && exec g++ -std=c++20 -O1 -I. -c base/quantity.cc -o "$OLDPWD/q.o" """),
    Subject("clang", "clang-14", C_PROGRAM + r"""
exec clang-14 -O2 -Weverything -c p.c -o p.o""", no_faults=WIDE),
    Subject("make", "make gcc libc6-dev", r"""
for i in 1 2 3 4 5 6 7 8; do echo "int f$i(void) { return $i; }" >f$i.c; done
echo 'int main(void) { return 0; }' >main.c
printf 'all: p\n%%.o: %%.c\n\t@gcc -c $< -o $@\np: main.o f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o\n\t@gcc $^ -o $@\n' >Makefile
make -s -j3 && ./p && make -q; echo $?""", no_faults=WIDE),
    Subject("make, 400 shells", "make", r"""
{ printf 'all:'; seq -f ' t%g' 400 | tr -d '\n'; printf '\nt%%:\n\t@x=$$(echo $@ | tr t n); test $$x\n'; } >Makefile
make -s -j4; echo $?"""),
    Subject("cmake and ninja", "cmake ninja-build gcc", r"""
printf 'cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_executable(p p.c)\n' >CMakeLists.txt
echo 'int main(void) { return 4; }' >p.c
cmake -G Ninja -B b . >log 2>&1 && ninja -C b --quiet; b/p; echo $?""", no_faults=WIDE),
    Subject("bison and flex", "bison flex m4", r"""
printf '%%%%\ne: %%empty | e "a" "b" | e "a" ;\n' >g.y; printf '%%%%\n[a-z]+ ECHO;\n' >l.l
bison -o g.c g.y; flex -o l.c l.l; sha256sum g.c l.c"""),
    Subject("binutils", "binutils", r"""
objdump -d --no-show-raw-insn /usr/bin/env | sha256sum; nm -D /usr/bin/env | wc -l
strip -o s /usr/bin/env; readelf -S s | sha256sum; ar rc a.a s; ar t a.a"""),
    Subject("git", "git", r"""
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z' GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main r; cd r; cp -r "$DATA" d; git add .; git commit -qm one
for i in 1 2 3 4 5; do echo $i >>d/README.md; git commit -qam $i; done
git gc -q; git log --format=%H; git diff HEAD~3 | wc; git clone -q . ../c; git -C ../c fsck 2>&1""",
            seconds=90),
    # Data
    Subject("sqlite3", "sqlite3", r"""
exec sqlite3 f.db 'CREATE TABLE t(i INTEGER PRIMARY KEY, v TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) INSERT INTO t SELECT i, hex(i * 7919) FROM n;
CREATE INDEX v ON t(v); SELECT count(*), max(v), sum(length(v)) FROM t; SELECT nonsense;'"""),
    Subject("jq", "jq", r"""
seq 30000 | jq -s 'map({a: ., b: (. % 7 | tostring)}) | group_by(.b) | map(length)'"""),
    Subject("xmllint and xsltproc", "libxml2-utils xsltproc", r"""
{ echo '<r>'; seq 60000 | sed 's|.*|<i n="&"><t>text &</t></i>|'; echo '</r>'; } >d.xml
xmllint --xpath 'count(//i[@n mod 3 = 0])' d.xml; xmllint --format d.xml | sha256sum
echo '<x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:output method="text"/><x:template match="i"><x:value-of select="@n * 2"/></x:template></x:stylesheet>' >s.xsl
xsltproc s.xsl d.xml | sha256sum; xmllint --noout nothing.xml"""),
    Subject("tar and gzip", "tar gzip", r"""
tar -C "$DATA" --sort=name --mtime=@0 --owner=0 --group=0 -czf a.tgz . && tar -tzf a.tgz | wc -l; gzip -dc a.tgz | sha256sum"""),
    Subject("xz", "xz-utils", r"""cat "$DATA"/* | xz -T2 -3 >a.xz; xz -dc a.xz | sha256sum"""),
    Subject("zstd", "zstd", r"""cat "$DATA"/* | zstd -q -T2 -7 >a.zst; sha256sum <a.zst; zstd -dcq a.zst | sha256sum"""),
    Subject("bzip2", "bzip2", r"""cat "$DATA"/* | bzip2 >a; sha256sum <a; bunzip2 -c <a | sha256sum"""),
    Subject("pigz and brotli", "pigz brotli", r"""
cat "$DATA"/* >all; pigz -p 4 -c all | pigz -dc | sha256sum; brotli -q 5 -c all | sha256sum"""),
    Subject("zip", "zip unzip", r"""
cp -r "$DATA" d; zip -qr a.zip d; unzip -qt a.zip; unzip -l a.zip | tail -n 1"""),
    Subject("cpio", "cpio", r"""cd "$DATA" && ls | LC_ALL=C sort | cpio -o --quiet --reproducible -H newc | cpio -it --quiet | sha256sum"""),
    Subject("gawk", "gawk", r"""
cat "$DATA"/* | gawk '{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) if (n[w] > 200) print n[w], w }' | LC_ALL=C sort"""),
    Subject("sed and grep", "sed grep", r"""
cat "$DATA"/* | sed -E 's/([a-z]+)_([a-z]+)/\2_\1/g; /^$/d' | grep -Eo '[a-z]+[0-9]?' | sha256sum"""),
    Subject("sort", "coreutils", r"""
seq 400000 | LC_ALL=C sort -r --parallel=4 -S 4M | sha256sum; seq 100000 | shuf --random-source="$DATA/words" | sort -n | tail -n 1"""),
    Subject("coreutils", "coreutils", r"""
cat "$DATA"/* | tr -s ' ' '\n' | LC_ALL=C sort | uniq -c | LC_ALL=C sort -rn | head -n 20
yes | head -n 100000 | md5sum; split -n 7 /usr/bin/env p.; cat p.* | cmp - /usr/bin/env; timeout 0.2 sleep 9; echo $?"""),
    Subject("find and xargs", "findutils", r"""
find "$REPO"/tests "$REPO"/docs -name '*.md' | LC_ALL=C sort | xargs -P 8 -n 1 wc -l | awk '{ n += $1 } END { print n }'
seq 300 | xargs -P 8 -n 1 sh -c 'exit 0'; find /nowhere"""),
    Subject("diff and patch", "diffutils patch", r"""
cat "$DATA"/* >a; sed 's/the/The/; /void/d' a >b; diff -u a b >d; wc <d; cp a c; patch -s c <d; cmp b c; diff -q a b"""),
    Subject("rsync", "rsync", r"""
rsync -a "$DATA"/ one; rsync -a --stats one/ two | grep 'Number of files'; echo x >one/new; rsync -ac one/ two; diff -r one two && ls two | wc -l"""),
    # Cryptography
    Subject("openssl", "openssl", r"""
cat "$DATA"/* >a; openssl dgst -sha3-256 a; openssl enc -aes-256-cbc -pbkdf2 -S 0011223344556677 -k p -in a | sha256sum
openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=h -days 9 2>/dev/null; openssl verify -CAfile c c""",
            seconds=90),
    Subject("gpg", "gnupg", r"""
mkdir -m 700 g; export GNUPGHOME=$PWD/g
echo text | gpg -q --batch --passphrase p --pinentry-mode loopback -c >m; gpg -q --batch --passphrase p --pinentry-mode loopback -d m
gpgconf --kill all"""),
    Subject("ssh-keygen", "openssh-client", r"""
ssh-keygen -q -t ed25519 -N '' -f k -C c; ssh-keygen -y -f k >p; cut -d ' ' -f 1,2 k.pub | cmp - p 2>&1 | wc -l
eval "$(ssh-agent -s)" >/dev/null; ssh-add -q k; ssh-add -l | wc -l; ssh-agent -k >/dev/null"""),
    # Documents and pictures
    Subject("imagemagick", "imagemagick", r"""
convert -size 300x300 gradient:red-blue -swirl 90 -blur 0x2 a.png; identify -format '%w %h\n' a.png; convert a.png -resize 50% rgb:- | sha256sum""",
            no_faults=WIDE),
    Subject("graphviz", "graphviz", r"""
{ echo 'digraph g {'; seq 200 | awk '{ print "n" $1 " -> n" int($1 / 2) ";" }'; echo '}'; } | dot -Tsvg | sha256sum"""),
    Subject("ghostscript", "ghostscript", r"""
echo '/Helvetica findfont 24 scalefont setfont 72 500 moveto (text) show 0 1 200 { 2 mul 0 moveto 300 700 lineto stroke } for showpage' >p.ps
gs -q -dNOPAUSE -dBATCH -sDEVICE=pgmraw -r40 -sOutputFile=p.pgm p.ps; sha256sum p.pgm"""),
    Subject("man", "man-db groff-base", r"""
printf '.TH P 1\n.SH NAME\np \\- a page\n.SH TEXT\nwords\n' >p.1; MANWIDTH=70 man -l p.1 | cat; man nothing_of_this_name""",
            may_say="forked under a system call filter"),
    Subject("file", "file", r"""file -b /bin/sh "$DATA"/* /dev/null | LC_ALL=C sort | uniq -c"""),
    Subject("vim", "vim-tiny", r"""
seq 5000 >t; vim.tiny -es -u NONE -c '%s/\(\d\)\(\d\)/\2\1/ge' -c 'g/7$/d' -c 'wq' t; echo $?; sha256sum t""", no_faults=("full disk",)),
    # Services
    Subject("nginx and curl", "nginx-light curl", r"""
cat >c <<END
pid $PWD/pid; error_log $PWD/log; worker_processes 2; daemon off; user root;
events { worker_connections 64; }
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
 server { listen unix:$PWD/s; location / { root $DATA; autoindex on; } } }
END
nginx -p "$PWD" -c "$PWD/c" 2>/dev/null & wait_for s
for i in $(seq 30); do curl -s --unix-socket s http://h/ | sed 's/<hr>.*//' | wc -l; done | uniq -c
curl -s --unix-socket s -o /dev/null -w '%{http_code}\n' http://h/nothing; kill -QUIT $!; wait $!; echo $?""",
            differs=(r"user root",)),
    Subject("redis", "redis-server", r"""
redis-server --port 0 --unixsocket s --save '' --daemonize no >/dev/null 2>&1 & wait_for s
redis-benchmark -s s -q -n 20000 -c 20 -t set,get,lpush,sadd,zadd >/dev/null 2>&1; echo $?
redis-cli -s s eval 'for i = 1, 2000 do redis.call("set", "k" .. i, i) end return redis.call("dbsize") > 2000' 0
redis-cli -s s --raw get k77; redis-cli -s s shutdown nosave; wait $!; echo $?"""),
    Subject("memcached", "memcached python3", r"""
as_root=; [ "$(id -u)" = 0 ] && as_root='-u root'
memcached $as_root -s "$PWD/s" -m 16 -t 4 & wait_for s
/usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_UNIX); s.connect("s"); f = s.makefile("rwb", 0)
for i in range(3000): f.write(b"set k%d 0 0 5\r\nvalue\r\n" % i); assert f.readline() == b"STORED\r\n"
f.write(b"get k2999\r\n"); print(f.readline(), f.readline())'
kill $!; wait $!; echo $?"""),
    Subject("postgresql", "postgresql", r"""
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH; mkdir d; [ "$(id -u)" = 0 ] && chown nobody . d
as_nobody initdb -D d -U u -A trust --no-sync >/dev/null
as_nobody postgres -D d -k "$PWD" -c listen_addresses= -c fsync=off -c max_connections=20 >log 2>&1 & wait_for .s.PGSQL.5432
i=0; until psql -qh "$PWD" -U u postgres -c 'select 1' >/dev/null 2>&1 || [ $i = 200 ]; do sleep 0.1; i=$((i + 1)); done
pgbench -qi -h "$PWD" -U u postgres >/dev/null 2>&1; pgbench -h "$PWD" -U u -c 4 -t 50 postgres 2>/dev/null | grep 'actually processed'
psql -h "$PWD" -U u -Atc 'select count(*), sum(abalance) is not null from pgbench_accounts' postgres
kill -INT "$(head -n 1 d/postmaster.pid)"; wait $!; echo $?""", no_faults=USERS + WIDE, seconds=120),
    # What cannot be recorded, among what can
    Subject("busybox, static", "busybox-static", r"""
busybox seq 2000 | busybox sort -r | sort -n | busybox tail -n 3; busybox sh -c 'exit 6'; echo $?"""),
    Subject("musl", "musl-tools gcc", r"""
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { for (int i = 0; i < 999; i++) free(malloc(i)); puts("musl"); return 5; }' >p.c
musl-gcc p.c -o p && ./p; echo $?"""),
    Subject("AddressSanitizer", "gcc libasan8", r"""
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { for (int i = 0; i < 999; i++) free(malloc(i)); puts("asan"); return 5; }' >p.c
gcc -fsanitize=address p.c -o p && ./p; echo $?""", no_faults=WIDE),
    Subject("own malloc", "", r"""env >/dev/null; "$TARGETS/tell_environment_own_malloc" | wc -l; echo $?"""),
    Subject("loader as program", "", r"""/lib64/ld-linux-x86-64.so.2 /bin/echo by the loader; exec /lib64/ld-linux-x86-64.so.2 /usr/bin/sort /etc/passwd"""),
    Subject("setuid", "passwd", r"""as_nobody passwd -S root; echo $?; as_nobody chage -l root; echo $?""", no_faults=USERS),
    Subject("empty environment", "", r"""env -i /bin/ls / | wc -l; env -i /bin/sh -c 'seq 300 | sort | tail -n 1'"""),
    # Process life
    Subject("a terminal", "bsdutils", r"""script -qec 'stty size; ls -d /usr/* | sort | head -n 3; exit 4' /dev/null; echo $?"""),
    Subject("signals", "bash", r"""
exec bash -c 'trap "echo usr1" USR1; for i in 1 2 3; do kill -USR1 $$; done; sleep 9 & kill $!; wait $!; echo $?
(ulimit -f 1; yes >big) 2>/dev/null; echo $?; kill -PIPE $$'"""),
    Subject("forks", "", r"""exec "$TARGETS/processes" many 700"""),
    Subject("a crowd", "", r"""exec "$TARGETS/processes" crowd 60"""),
    Subject("forks among threads", "", r"""exec "$TARGETS/processes" threads 30"""),
    Subject("short threads", "", r"""exec "$TARGETS/thread_lives" churn 6000"""),
    Subject("64 threads", "", r"""exec "$TARGETS/thread_lives" crowd 64"""),
    Subject("thread exchange", "", r""""$TARGETS/thread_exchange" 4 200000 >/dev/null; echo $?"""),
    Subject("dpkg and apt", "apt dpkg", r"""dpkg-query -W | wc -l; apt-cache policy bash 2>/dev/null | head -n 2; dpkg -L coreutils | sha256sum"""),
    Subject("locale and iconv", "libc-bin", r"""cat "$DATA"/* | iconv -f UTF-8 -t UTF-16 | iconv -f UTF-16 -t UTF-8 | sha256sum; locale -a | head -n 2; getent passwd root"""),
]


def packages():
    return sorted({package for subject in SUBJECTS for package in subject.packages.split()})
