"""What `./dev uninstall PREFIX` removes, and what it refuses."""

import contextlib
import errno
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
import uninstall  # noqa: E402


class Uninstall(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heaptape-test-")
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name).resolve()
        self.prefix = self.base / "prefix"
        self.put("bin/heaptape", "share/heaptape/man", "bin/others")
        self.list_files("bin/heaptape", "share/heaptape/man", uninstall.MANIFEST, "share/heaptape/", "share/")

    def put(self, *names):
        for name in names:
            (self.prefix / name).parent.mkdir(parents=True, exist_ok=True)
            (self.prefix / name).write_text("x")

    def list_files(self, *lines):
        """As installed: each file holds "x"."""
        digest = hashlib.sha256(b"x").hexdigest()
        lines = [line if line.endswith("/") or line == uninstall.MANIFEST else f"{digest}  {line}" for line in lines]
        (self.prefix / uninstall.MANIFEST).write_text("\n".join(["heaptape 1.2.3", *lines]) + "\n")

    def left(self):
        return sorted(str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*"))

    def run_it(self, *words):
        """Status, and what was said."""
        said = io.StringIO()
        before, sys.argv = sys.argv, ["uninstall.py", *map(str, words or [self.prefix])]
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                return uninstall.main(), said.getvalue()
        finally:
            sys.argv = before

    def refuses(self, part):
        before = self.left()
        status, said = self.run_it()
        self.assertEqual(status, 1, said)
        self.assertIn(part, said)
        self.assertEqual(said.count("\n"), 1)
        self.assertEqual(self.left(), before)

    def test_removes_what_is_listed_and_nothing_else(self):
        self.assertEqual(self.run_it(), (0, f"removed 3 files from {self.prefix}\n"))
        self.assertEqual(self.left(), ["bin", "bin/others"])

    def test_keeps_a_directory_in_which_others_have_files(self):
        self.put("share/heaptape/mine")
        self.run_it()
        self.assertEqual(self.left(), ["bin", "bin/others", "share", "share/heaptape", "share/heaptape/mine"])

    def test_keeps_an_empty_directory_that_it_did_not_make(self):
        (self.prefix / "bin/others").unlink()
        self.run_it()
        self.assertEqual(self.left(), ["bin"])

    def test_passes_over_files_that_are_gone(self):
        (self.prefix / "bin/heaptape").unlink()
        self.assertEqual(self.run_it()[0], 0)

    def test_keeps_files_that_are_not_as_they_were_installed(self):
        (self.prefix / "bin/heaptape").write_text("mine")
        (self.prefix / "share/heaptape/man").unlink()
        (self.prefix / "share/heaptape/man").symlink_to("../../bin/others")
        status, said = self.run_it()
        self.assertEqual(status, 0)
        self.assertEqual(said.count("it is not as it was installed"), 2, said)
        self.assertEqual(self.left(), ["bin", "bin/heaptape", "bin/others", "share", "share/heaptape", "share/heaptape/man"])

    def test_keeps_a_file_that_was_added_to_the_manifest(self):
        with (self.prefix / uninstall.MANIFEST).open("a") as manifest:
            manifest.write("bin/others\n")
        self.run_it()
        self.assertEqual(self.left(), ["bin", "bin/others"])

    def test_refuses_a_prefix_without_a_manifest(self):
        (self.prefix / uninstall.MANIFEST).unlink()
        self.refuses("there is no installation in")

    def test_refuses_a_path_out_of_the_prefix(self):
        for line in ("../other", "bin/../../other", "/etc/passwd", "", ".", "bin/\0"):
            self.list_files("bin/heaptape", line, uninstall.MANIFEST)
            self.refuses("is not a path below it")

    def test_refuses_a_directory_that_leads_out_of_the_prefix(self):
        (self.base / "elsewhere").mkdir()
        (self.base / "elsewhere/file").write_text("x")
        (self.prefix / "lib").symlink_to("../elsewhere")
        self.list_files("lib/file", uninstall.MANIFEST)
        self.refuses("which is not below the prefix")
        self.assertTrue((self.base / "elsewhere/file").exists())

    def test_refuses_a_directory_in_the_place_of_a_file(self):
        self.put("bin/heaptape.d/precious")
        self.list_files("bin/heaptape.d", uninstall.MANIFEST)
        self.refuses("is not what was installed there")

    def test_refuses_another_file_in_the_place_of_the_manifest(self):
        (self.prefix / uninstall.MANIFEST).write_text("bin/heaptape\n")
        self.refuses("is not a manifest of heaptape")
        (self.prefix / uninstall.MANIFEST).write_bytes(b"\xff")
        self.refuses("cannot be read")
        (self.prefix / uninstall.MANIFEST).write_bytes(b"")
        self.refuses("is not a manifest of heaptape")
        (self.prefix / uninstall.MANIFEST).unlink()
        os.mkfifo(self.prefix / uninstall.MANIFEST)
        self.refuses("is not a file")

    def test_takes_a_prefix_from_the_directory_of_the_caller(self):
        dev = subprocess.run([ROOT / "dev", "uninstall", "prefix"], cwd=self.base, capture_output=True, text=True, check=False)
        self.assertEqual((dev.returncode, dev.stdout), (0, f"removed 3 files from {self.prefix}\n"), dev.stderr)

    def test_wants_one_prefix(self):
        self.assertEqual(self.run_it("a", "b")[0], 2)

    def test_says_what_it_may_not_remove(self):
        denied = PermissionError(errno.EACCES, "Permission denied", "bin/heaptape")
        with unittest.mock.patch.object(pathlib.Path, "unlink", side_effect=denied):
            self.refuses("cannot remove 'bin/heaptape': Permission denied")


if __name__ == "__main__":
    unittest.main()
