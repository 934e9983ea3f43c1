"""`./dev lint` reports faults that are planted where its tools once saw none.

usage: python3 -m tests.lint_self_test [BUILD CLANG_TIDY], in the root of the repository, when the linters are installed
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FAULT = "inline bool planted(int number) {\n  return number == number;\n}\n"
REPORTED = "misc-redundant-expression"


class Planted(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="heaptape-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def plant(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def reports(self, fault, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(fault, done.stdout + done.stderr)


class Scripts(Planted):
    def test_shellcheck(self):
        script = self.plant("dev", "#!/bin/bash\ncd build\nrm -f a\n")
        self.reports("SC2164", "shellcheck", "--severity=warning", script)

    def test_ruff(self):
        module = self.plant("planted.py", "import os\n")
        self.reports("F401", LINT_TOOLS / "ruff", "check", "--config", "python/pyproject.toml", module)

    def test_mypy(self):
        module = self.plant("planted.py", "def planted(number):\n    return number\n")
        words = ("--config-file", "python/pyproject.toml", "--cache-dir", self.directory / "cache", module)
        self.reports("no-untyped-def", LINT_TOOLS / "mypy", *words)


class Sources(Planted):
    def tidy(self, source, *flags):
        self.reports(REPORTED, CLANG_TIDY, "--quiet", "--config-file=.clang-tidy", source, "--", *flags)

    def test_headers_of_base_and_cli(self):
        for name in ("base/planted.h", "cli/planted.h"):
            with self.subTest(name):
                self.plant(name, "#pragma once\n" + FAULT)
                source = self.plant("planted.cc", f'#include "{name}"\n')
                self.tidy(source, "-std=c++20", f"-I{self.directory}")

    def test_the_interposer(self):
        original = "recorder/interposer/bootstrap.cc"
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        [entry] = [one for one in entries if one["file"].endswith("/" + original) and "preload" in one["command"]]
        flags = [word for word in entry["command"].split() if word.startswith(("-D", "-I", "-f", "-std"))]
        source = self.plant(original, pathlib.Path(original).read_text() + FAULT)
        self.tidy(source, *flags)


if __name__ == "__main__":
    LINT_TOOLS = pathlib.Path("build/lint-tools/venv/bin")
    tests = Scripts
    if len(sys.argv) > 1:
        BUILD, CLANG_TIDY = pathlib.Path(sys.argv[1]), sys.argv[2]
        tests = Sources
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(tests)
    sys.exit(not unittest.TextTestRunner(verbosity=0).run(tests).wasSuccessful())
