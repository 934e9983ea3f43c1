"""What another user plants under the names of files that commands create: nobody's file changes, nothing waits.

usage: planted_files_test.py HEAPTAPE

strace lists the names that a command creates or replaces in its directory. Each of them is then planted: a link to a
file of the victim's, a link to nothing, a hard link, a FIFO, a directory, another user's file; in a directory of the
user's own and in one like /tmp; for root and for a plain user. Needs root, for the users.
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HEAPTAPE = ""
ATTACKER = 65534
USER = 65533
SECRET = b"of somebody else\n"

# In a directory of their own; {in} has the inputs.
COMMANDS = {
    "record": ["record", "-o", "run.tape", "--", "/bin/sh", "-c", "/bin/true; /bin/true"],
    "record --stacks": ["record", "--stacks", "dwarf", "-o", "run.tape", "--", "/bin/sh", "-c", "exit"],
    "exec": ["exec", "-o", "run.tape", "--", "/bin/sh", "-c", "/bin/true; /bin/true"],
    "scenario": ["scenario", "random-slots", "--set", "events=1000", "-o", "made.tape"],
    "replay": ["replay", "{in}/run.tape", "-a", "model:ideal", "-o", "r.json", "--csv", "t.csv", "--html", "p.html"],
    "explain": ["explain", "{in}/run.tape", "-a", "model:ptmalloc", "--html", "p.html"],
    "diff": ["diff", "{in}/report.json", "{in}/report.json", "--html", "p.html"],
    "stats": ["stats", "{in}/run.tape", "--csv", "t.csv"],
    "export": ["export", "{in}/run.tape", "--format", "mtrace", "-o", "trace.txt"],
    "import": ["import", "mtrace", "{in}/trace.txt", "-o", "run.tape"],
    "recover": ["recover", "{in}/cut.tape", "-o", "run.tape"],
    "pack": ["pack", "{in}/run.tape", "-o", "packed.tape"],
    "scrub": ["scrub", "{in}/run.tape", "-o", "public.tape"],
    "symbolize": ["symbolize", "run.tape"],
}
# Those that need a file in their directory.
COPIED = {"symbolize": "stacks.tape"}

PLANTS = ("link", "link to nothing", "hard link", "FIFO", "directory", "file")

CREATING = re.compile(
    r'(?:openat\(AT_FDCWD, "(?P<open>[^"]*)", [A-Z_|]*O_CREAT'
    r'|(?:rename|renameat2?|link|linkat)\((?:AT_FDCWD, )?"[^"]*", (?:AT_FDCWD, )?"(?P<to>[^"]*)"'
    r'|mkdir\("(?P<made>[^"]*)")'
)


class PlantedFiles(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="planted-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.top)
        self.top.chmod(0o755)
        self.inputs = self.top / "inputs"
        self.inputs.mkdir()
        self.heaptape("scenario", "random-slots", "--set", "events=1000", "-o", "run.tape", cwd=self.inputs)
        self.heaptape("record", "--stacks", "dwarf", "-o", "stacks.tape", "--", "/bin/sh", "-c", "exit", cwd=self.inputs)
        self.heaptape("replay", "run.tape", "-a", "model:ideal", "-o", "report.json", cwd=self.inputs)
        self.heaptape("export", "run.tape", "--format", "mtrace", "-o", "trace.txt", cwd=self.inputs)
        whole = (self.inputs / "run.tape").read_bytes()
        (self.inputs / "cut.tape").write_bytes(whole[: len(whole) * 3 // 4])
        for path in self.inputs.iterdir():
            path.chmod(0o644)

    def heaptape(self, *words, cwd, user=0, strace=()):
        return subprocess.run(
            [*strace, HEAPTAPE, *words],
            cwd=cwd,
            user=user,
            group=user,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    @contextlib.contextmanager
    def place(self, name, user, shared):
        """An empty directory in which the command can run."""
        place = self.top / "place"
        place.mkdir()
        place.chmod(0o1777 if shared else 0o755)
        if not shared:
            os.chown(place, user, user)
        if name in COPIED:
            shutil.copyfile(self.inputs / COPIED[name], place / "run.tape")
            os.chown(place / "run.tape", user, user)
        yield place
        shutil.rmtree(place)

    def words(self, name):
        return [word.replace("{in}", str(self.inputs)) for word in COMMANDS[name]]

    def created(self, name):
        """The names that the command creates or replaces; {pid} stands for a number of its processes."""
        log = self.top / "strace"
        strace = ("strace", "-f", "-qq", "-s", "4096", "-o", str(log), "-e", "trace=openat,rename,renameat,renameat2,link,linkat,mkdir")
        with self.place(name, 0, False) as place:
            done = self.heaptape(*self.words(name), cwd=place, strace=strace)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            names = set()
            for line in log.read_text(errors="replace").splitlines():
                for found in CREATING.finditer(line):
                    path = pathlib.Path(os.path.normpath(place / next(filter(None, found.groups()))))
                    if path.parent == place and path.name not in COPIED.values():
                        names.add(re.sub(r"\b\d{2,}\b", "{pid}", path.name))
        self.assertTrue(names, f"{name} created nothing")
        return sorted(names)

    def plant(self, kind, path, victim):
        if kind == "link":
            path.symlink_to(victim)
        elif kind == "link to nothing":
            path.symlink_to(victim.with_name("missing"))
        elif kind == "hard link":
            path.hardlink_to(victim)
            return
        elif kind == "FIFO":
            os.mkfifo(path)
        elif kind == "directory":
            path.mkdir()
        else:
            path.write_bytes(SECRET)
            path.chmod(0o666)
        os.chown(path, ATTACKER, ATTACKER, follow_symlinks=False)

    def names_of(self, name):
        """For the processes to come."""
        if "{pid}" not in name:
            return [name]
        last = int(pathlib.Path("/proc/sys/kernel/ns_last_pid").read_text())
        return [name.replace("{pid}", str(pid)) for pid in range(last + 1, last + 40)]

    def check(self, name, created, kind, user, shared):
        victim = self.top / "victim"
        victim.write_bytes(SECRET)
        victim.chmod(0o644)
        os.chown(victim, user, user)
        before = victim.stat()
        with self.place(name, user, shared) as place:
            for planted in self.names_of(created):
                self.plant(kind, place / planted, victim)
            done = self.heaptape(*self.words(name), cwd=place, user=user)
            said = done.stderr.decode()
            after = victim.stat()
            self.assertEqual(victim.read_bytes(), SECRET)
            self.assertEqual(
                (after.st_mode, after.st_uid, after.st_size), (before.st_mode, before.st_uid, before.st_size)
            )
            self.assertFalse((self.top / "missing").exists())
            self.assertNotIn("terminate called", said)
            self.assertGreaterEqual(done.returncode, 0)
            if kind == "file" and shared:
                for planted in self.names_of(created):
                    left = place / planted
                    if left.exists() and left.stat().st_uid == ATTACKER:
                        self.assertEqual(left.read_bytes(), SECRET)
            if done.returncode != 0:
                sentences = [line for line in said.splitlines() if line.startswith("heaptape: ")]
                self.assertTrue(sentences, said)
                self.assertEqual(len(said.splitlines()), len(sentences), said)

    def test_nobodys_file_changes(self):
        for name in COMMANDS:
            for created in self.created(name):
                for kind in PLANTS:
                    for user, shared in ((0, False), (0, True), (USER, True)):
                        with self.subTest(command=name, file=created, planted=kind, user=user, shared=shared):
                            self.check(name, created, kind, user, shared)

    def test_every_command_that_writes_is_tried(self):
        helped = self.heaptape("--help", cwd=self.top).stdout.decode()
        commands = re.findall(r"^  ([a-z]+) {2,}", helped, re.MULTILINE)
        self.assertGreater(len(commands), 10)
        for command in commands:
            said = self.heaptape(command, "--help", cwd=self.top).stdout.decode()
            writes = re.search(r"^ +(?:-o,|--csv|--html|--junit|--markdown)", said, re.MULTILINE)
            if writes:
                self.assertIn(command, {name.split()[0] for name in COMMANDS})


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("needs root, for files of other users")
        sys.exit(77)
    if not shutil.which("strace"):
        print("needs strace")
        sys.exit(77)
    HEAPTAPE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
