"""What the tests of pages share: programs, a folder, a browser, figures of a report."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from . import browser

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains

SKIPPED = 77  # see tests/skipped_tests.py
HEAPTAPE = MAKE_TAPES = None


def heaptape(*words, status=0):
    done = subprocess.run([HEAPTAPE, *map(str, words)], capture_output=True, text=True, timeout=browser.PATIENCE)
    if done.returncode != status:
        raise RuntimeError(f"heaptape {words}: {done.stderr}")
    return done.stdout


class Made:
    """A page, the report beside it, and what the terminal said."""

    def __init__(self, folder, name, tape, *options):
        self.path = folder / f"{name}.html"
        report = folder / f"{name}.json"
        self.text = heaptape("replay", tape, "--html", self.path, "-o", report, *options)
        self.report = json.loads(report.read_text())


# Not figures of a run that lacks these: docs/metrics.md.
RETURNED = {"returnedBytes", "untouchedBytes"}
OF_PAGES = RETURNED | {"residentHoleBytes", "purgeableBytes", "trimmableBytes"}
ABSENT = {"returnedPages": RETURNED, "residentPages": OF_PAGES, "residentSizes": OF_PAGES | {"residentBytes"}}


def figure(run_of_report, metric):
    """As --fail-if names it."""
    value = run_of_report
    if any(metric.rpartition(".")[2] in ABSENT[what] for what in value.get("lacks", [])):
        return None
    if metric.startswith("atMark."):
        _, name, metric = metric.split(".", 2)
        [value] = [mark["state"] for mark in run_of_report["atMarks"] if mark["name"] == name]
    for word in metric.split("."):
        if value is None:
            return None
        value = value.get(word)
    return value["value"] if isinstance(value, dict) else value


def at_path(report, path):
    """The number at "runs.0.latency.3.p50Ns"."""
    for word in path.split("."):
        report = report[int(word)] if isinstance(report, list) else report[word]
    return report


def complaints(driver):
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


class Pages(unittest.TestCase):
    """Has `folder`, and `driver`, a browser. A subclass fills the folder in make()."""

    @classmethod
    def make(cls):
        pass

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="heaptape-pages-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        cls.make()
        cls.driver = browser.start()
        cls.addClassCleanup(cls.driver.quit)

    def run_script(self, script, *arguments):
        return self.driver.execute_script("return " + script, *arguments)

    def press_keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def tip(self):
        """The text of the tip that explains terms; None while there is none."""
        return self.run_script("document.getElementById('tip').hidden ? null : document.getElementById('tip').textContent")

    def open_any(self, page):
        """For what needs the scripts of a page and not its content: opens it unless one is open."""
        if not self.driver.current_url.startswith("file:"):
            browser.show(self.driver, page)

    def assert_no_complaint(self):
        self.assertEqual(self.run_script("document.documentElement.dataset.ready"), "yes")
        self.assertIsNone(self.run_script("document.documentElement.dataset.errors || null"))
        self.assertEqual(complaints(self.driver), [])

    def assert_opens_well(self, page):
        """On a desk, and on a phone in the dark: no complaint, and nothing wider than the screen."""
        for looks in ({}, {"width": 390, "height": 844, "scheme": "dark"}):
            with self.subTest(**looks):
                browser.show(self.driver, page, **looks)
                self.assert_no_complaint()
                self.assertEqual(self.run_script("document.documentElement.scrollWidth"), looks.get("width", 1440))


def main(name):
    """usage: python3 -m tests.browser.NAME HEAPTAPE MAKE_TAPES [unittest option...]"""
    global HEAPTAPE, MAKE_TAPES
    reason = browser.missing()
    if reason:
        print(f"{name}.py:1: Skipped\n{reason}\n")
        sys.exit(SKIPPED)
    HEAPTAPE, MAKE_TAPES = (str(Path(word).resolve()) for word in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
