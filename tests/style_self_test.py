"""style_test.py reports each habit, wherever text may be, and nothing else."""

import pathlib
import tempfile
import unittest

from . import style_test


class Style(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="heaptape-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def complaints(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return [complaint.split(": ", 1)[1] for complaint in style_test.complaints(path)]

    def reports(self, habit, name, text):
        found = self.complaints(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(habit, found[0])

    def test_reports_sentences_that_begin_with_of(self):
        for name, text in {
            "a.cc": "int x;  // Of the thread that calls.\n",
            "a.h": "// Reads it.\n// Of a script, the\n// largest.\nint f();\n",
            "a.py": '"""Reads. Of a tape, the facts."""\n',
            "a.md": "Some text.\nOf a script you want another.\n",
            "dev": "# Of the host.\n",
        }.items():
            with self.subTest(name):
                self.reports('begins with "Of"', name, text)

    def test_reports_clauses_as_subjects(self):
        self.reports("is a subject", "a.cc", "// Whoever waits looks at it.\n")
        self.reports("is a subject", "a.md", "- What cannot tell does not pass.\n")

    def test_reports_folders(self):
        self.reports("folder", "a.md", "Choose a folder.\n")

    def test_reports_functions_named_by_participles(self):
        self.reports("participle: _judged", "a.py", "def _judged(x):\n    return x\n")

    def test_passes_the_rest(self):
        for name, text in {
            "a.md": "What does it cost? One of two. Use `folder`.\n\n# What it costs\n\n    Of code\n\n```\nOf code.\n```\n",
            "a.cc": 'const char* kText = "Of what";  // the kind of text\nheaptape_folder(x);\n',
            "a.py": "@property\ndef failed(self):\n    return need()\n\n\ndef need():\n    pass\n",
        }.items():
            with self.subTest(name):
                self.assertEqual(self.complaints(name, text), [])


if __name__ == "__main__":
    unittest.main()
