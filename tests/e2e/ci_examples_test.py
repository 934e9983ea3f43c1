"""Runs the steps of docs/ci as they are written, on a project whose branch changes nothing, and on one whose branch
keeps a block for each request, which must fail and be named.

usage: ci_examples_test.py HEAPTAPE. Ends with 77 where python3 has no yaml.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

try:
    import yaml
except ImportError:
    print("ci_examples_test.py:1: Skipped\npython3-yaml is not installed\n")  # as tests/skipped_tests.py reads it
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
import make_packages  # noqa: E402

PROGRAM = ROOT / "tests/e2e/targets/cache.c"
BLOCKS = r"\+1,000 blocks of 400 B alive at the end, requested between #\d+ and #[\d,]+"
# What JUnit files may have by the schema of Jenkins, which checks it: elements and attributes, with * those that must be.
SUITE = {"name*", "tests*", "failures*", "errors*", "time", "skipped"}
RESULT = ({"message", "type"}, set())
JUNIT = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (SUITE, {"testcase", "system-out"}),
    "testcase": ({"name*", "classname", "time"}, {"skipped", "error", "failure"}),
    "failure": RESULT, "error": RESULT, "skipped": RESULT, "system-out": (set(), set()),
}
SECONDS = 120
# For the installation, whose steps change the machine: the package is downloaded, what it depends on is resolved as for
# an installation, and the package alone is unpacked, into a directory that is then on the PATH.
STAND_INS = {
    "sudo": 'exec "$@"',
    "apt-get": """test "$1" != update || exit 0
/usr/bin/apt-get --simulate "$@"
for word; do case $word in *.deb) dpkg-deb --extract "$word" "$INSTALLED";; esac; done""",
}
heaptape = None


def makefile(*flags):
    return f"server: server.c\n\tcc -g {' '.join(flags)} -o $@ $<\n"


def make_package(folder):
    """A package of this build: packages for other machines are built differently, but hold the same files."""
    folder.mkdir()
    build = Path(heaptape).parents[1]
    stage = make_packages.install(build, folder / "stage")
    make_packages.make_deb(stage, folder / "deb", folder / "heaptape.deb")
    return folder / "heaptape.deb"


class Example(unittest.TestCase):
    """A project and what is done with it in `self.folder`."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="heaptape-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {**os.environ, "PATH": f"{Path(heaptape).parent}:{os.environ['PATH']}"}

    def write_project(self, folder, *flags):
        folder.mkdir(exist_ok=True)
        shutil.copy(PROGRAM, folder / "server.c")
        (folder / "Makefile").write_text(makefile(*flags))

    def run_script(self, script, shell=("bash", "-e")):
        self.assertNotIn("${{", script)  # that only GitHub could replace
        (self.folder / "script.sh").write_text(script)
        return subprocess.run([*shell, "script.sh"], cwd=self.folder, env=self.environment, timeout=SECONDS,
                              capture_output=True, text=True)

    def expect_installation(self, script, shell):
        for needed in ("apt-get", "curl"):
            if not shutil.which(needed):
                self.skipTest(f"no {needed}")
        commands = self.folder / "commands"
        commands.mkdir()
        for name, text in STAND_INS.items():
            (commands / name).write_text(f"#!/bin/bash -e\n{text}\n")
            (commands / name).chmod(0o755)
        installed = self.folder / "installed"
        self.environment |= {"HEAPTAPE_DEB": make_package(self.folder / "packages").as_uri(), "INSTALLED": str(installed),
                             "PATH": f"{commands}:{installed}/usr/bin:{os.environ['PATH']}"}
        done = self.run_script(f"{script}\ncommand -v heaptape\nheaptape record -o ls.tape -- ls", shell)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{installed}/usr/bin/heaptape", done.stdout)
        self.assertIn("Inst heaptape ", done.stdout)
        self.assertTrue((self.folder / "ls.tape").exists())

    def expect_address_request(self, script, shell):
        self.environment["HEAPTAPE_DEB"] = ""
        done = self.run_script(script[script.index("curl -fsSL"):], shell)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("HEAPTAPE_DEB: fill in where the package is", done.stderr)

    def junit(self):
        root = xml.parse(self.folder / "heap.xml").getroot()
        self.assertEqual(root.tag, "testsuites")
        for element in root.iter():
            attributes, elements = JUNIT[element.tag]
            names = set(element.attrib)
            self.assertLessEqual(names, {name.rstrip("*") for name in attributes}, element.tag)
            self.assertLessEqual({name[:-1] for name in attributes if name.endswith("*")}, names, element.tag)
            self.assertLessEqual({part.tag for part in element}, elements, element.tag)
        for suite in [root, *root.iter("testsuite")]:
            for name, tag in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")]:
                self.assertEqual(suite.get(name), str(len(list(suite.iter(tag)))))
        return root

    def expect_pass(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.junit().get("failures"), "0")
        self.assertGreater(int(self.junit().get("tests")), 0)

    # `text`: what a reviewer reads.
    def expect_regression(self, done, text):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(text, BLOCKS)
        line = PROGRAM.read_text().split("requests[i] = malloc(kRequestBytes);")[0].count("\n") + 1
        self.assertIn(f"remember (server.c:{line})", text)
        failures = {case.get("name"): case.find("failure") for case in self.junit().iter("testcase")}
        failure = failures["end.liveBytes > +1% +64KiB"]
        self.assertRegex(failure.get("message"), BLOCKS)
        self.assertRegex(failure.text, BLOCKS)
        self.assertIn("<!doctype html>", (self.folder / "heap.html").read_text()[:100].lower())


class GitHub(Example):
    STEPS = ["Install heaptape", "Build", "Record", "Replay", "Compare"]

    def setUp(self):
        super().setUp()
        self.summary = self.folder / "summary.md"
        self.environment["GITHUB_STEP_SUMMARY"] = str(self.summary)
        steps = yaml.safe_load((ROOT / "docs/ci/github-actions.yml").read_text())["jobs"]["heap"]["steps"]
        self.scripts = {step["name"]: step["run"] for step in steps if "run" in step}
        self.assertEqual(list(self.scripts), self.STEPS)
        self.assertEqual([step["uses"] for step in steps if "run" not in step],
                         ["actions/checkout@v4"] * 2 + ["actions/upload-artifact@v4"])

    def run_steps(self, *flags):
        self.write_project(self.folder / "main")
        self.write_project(self.folder / "branch", *flags)
        for name in self.STEPS[1:]:
            done = self.run_script(self.scripts[name])
            if done.returncode != 0:
                self.assertEqual(name, "Compare", done.stderr)
        return done

    def test_passes_where_nothing_changed(self):
        self.expect_pass(self.run_steps())

    def test_fails_for_a_block_kept_for_each_request(self):
        self.expect_regression(self.run_steps("-DREGRESSION"), self.summary.read_text().replace("\\", ""))

    def test_installs_heaptape(self):
        self.expect_installation(self.scripts["Install heaptape"], ("bash", "-e"))

    def test_asks_for_the_address_of_the_package(self):
        self.expect_address_request(self.scripts["Install heaptape"], ("bash", "-e"))


class GitLab(Example):
    def setUp(self):
        super().setUp()
        self.job = yaml.safe_load((ROOT / "docs/ci/gitlab-ci.yml").read_text())["heap"]
        self.assertLess({"before_script", "script", "artifacts"}, set(self.job))

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", *words], cwd=self.folder,
                              check=True, capture_output=True, text=True).stdout.strip()

    def run_job(self, *flags):
        self.git("init", "-q")
        self.write_project(self.folder)
        self.git("add", ".")
        self.git("commit", "-qm", "main")
        self.environment["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = self.git("rev-parse", "HEAD")
        self.write_project(self.folder, *flags)
        return self.run_script("\n".join(self.job["script"]), ("bash", "-eo", "pipefail"))

    def test_passes_where_nothing_changed(self):
        self.expect_pass(self.run_job())

    def test_fails_for_a_block_kept_for_each_request(self):
        done = self.run_job("-DREGRESSION")
        self.expect_regression(done, done.stdout)

    def test_installs_heaptape(self):
        self.expect_installation("\n".join(self.job["before_script"]), ("bash", "-eo", "pipefail"))

    def test_asks_for_the_address_of_the_package(self):
        self.expect_address_request("\n".join(self.job["before_script"]), ("bash", "-eo", "pipefail"))


if __name__ == "__main__":
    heaptape = os.path.abspath(sys.argv.pop(1))
    unittest.main()
