"""The recorder alone, installed by its component.

usage: recorder_test.py BUILD
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

COMMANDS = ["record", "exec", "ctl", "info", "verify"]
build = None


class Recorder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="heaptape-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name)
        subprocess.run(["cmake", "--install", build, "--component", "recorder", "--prefix", cls.prefix], check=True,
                       stdout=subprocess.DEVNULL)

    def run_it(self, *words):
        return subprocess.run([self.prefix / "bin/heaptape", *words], capture_output=True, text=True, check=False)

    def refuses(self, words, part):
        done = self.run_it(*words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn(part, done.stderr)

    def test_records_and_reads_its_tape(self):
        tape = self.prefix / "run.tape"
        self.assertEqual(self.run_it("record", "-o", tape, "--", "ls", "/").returncode, 0)
        self.assertEqual(self.run_it("verify", tape).returncode, 0)
        self.assertIn("ls", self.run_it("info", tape).stdout)

    def test_lists_its_commands_and_no_others(self):
        said = self.run_it("--help").stdout
        self.assertEqual(re.findall(r"^  ([a-z]+) +\S", re.split("(?:sub)?commands:", said, flags=re.I)[1], re.M), COMMANDS)

    def test_says_where_other_commands_are(self):
        for name in ("replay", "man", "completion", "sweep", "no-such"):
            self.refuses([name, "run.tape"], f"there is no command '{name}': this is the recorder alone, with")

    def test_explains_wrong_words_as_the_whole_does(self):
        self.refuses(["info", "--jason", "run.tape"], "there is no option '--jason' (did you mean --json?)")
        self.refuses([], "a command is missing")

    def test_installs_no_more_than_it_needs(self):
        files = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if path.is_file()}
        programs = {name for name in files if not name.startswith("share/doc/")}
        self.assertEqual(programs - {"run.tape", "run.tape.manifest.json"},
                         {"bin/heaptape", "lib/heaptape/libheaptape-interposer.so"})


if __name__ == "__main__":
    build = sys.argv.pop(1)
    unittest.main()
