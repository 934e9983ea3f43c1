"""Pages in a browser that runs no scripts: the verdict and the tables are there, with the figures of the JSON."""

import json

from . import harness
from .harness import figure, heaptape
from .page_numbers import TEXTS
from .replay_pages import ReplayPages


class NoScripts(ReplayPages):
    wanted = ("process, replayed", "pinned", "fill", "hostile")

    @classmethod
    def make(cls):
        super().make()
        cls.explained = heaptape("explain", cls.folder / "pinned.tape", "-a", "model:ptmalloc", "--at", "end",
                                 "--html", cls.folder / "explain.html")
        sides = (cls.folder / "pinned.json", cls.folder / "process, replayed.json", "--run", "model:ptmalloc", "--fail-if", "peak.liveBytes>0",
                 "--fail-if", "end.liveBytes<1")
        heaptape("diff", *sides, "--html", cls.folder / "diff.html", status=1)
        cls.diff = json.loads(heaptape("diff", *sides, "--format", "json", status=1))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def open(self, page):
        self.driver.get(page.resolve().as_uri())  # browser.show() waits for what scripts do
        self.assertIsNone(self.run_script("document.documentElement.dataset.ready || null"))

    def tables(self):
        """{caption: rows of cells}, as they are seen."""
        return dict(self.run_script("""[...document.querySelectorAll('table')].filter((one) => one.offsetWidth).map((one) =>
            [one.caption.textContent, [...one.rows].map((row) => [...row.cells].map((cell) => cell.textContent))])"""))

    def text(self, selector):
        return self.run_script("document.querySelector(arguments[0]).textContent", selector)

    def metrics(self, table):
        """The names, by column, and units, as the page's data has them."""
        data = self.run_script("JSON.parse(document.getElementById('data').textContent)")
        return [(one["metric"], one["unit"]) for one in data[table]["columns"]]

    def test_have_the_verdict_first(self):
        for name, made in self.pages.items():
            self.open(made.path)
            verdict = made.report["verdict"]
            self.assertEqual(self.text(".verdict"), verdict["headline"])
            for finding in verdict["findings"]:
                self.assertIn(finding["evidence"], self.text("#static ul"), name)

    def test_have_the_figures_of_all_runs(self):
        for name in ("process, replayed", "pinned", "fill"):
            self.open(self.pages[name].path)
            tables = self.tables()
            runs = {run["label"]: run for run in self.pages[name].report["runs"]}
            for caption, data in (("The runs compared", "overview"), ("Where the memory is", "accountTable")):
                columns = self.metrics(data)
                self.assertEqual(len(tables[caption][0]), len(columns) + 1)
                compared = 0
                for label, *cells in tables[caption][2:]:
                    for (metric, unit), text in zip(columns, cells):
                        value = figure(runs[label], metric)
                        if text == "-" or unit == "ns":
                            continue
                        expected = TEXTS[unit](value)
                        self.assertEqual(text, expected[:-2] if metric == "peak.distanceToIdeal" else expected, (name, label, metric))
                        compared += 1
                self.assertGreater(compared, 7)

    def test_say_that_more_needs_scripts(self):
        self.open(self.pages["fill"].path)
        self.assertIn("does not run", self.text("noscript"))
        self.assertGreater(self.run_script("document.querySelector('noscript').offsetHeight"), 0)

    def test_have_hostile_names_as_text(self):
        self.open(self.pages["hostile"].path)
        self.assertEqual(self.run_script("document.querySelectorAll('img, b').length"), 0)
        self.assertEqual([row[0] for row in self.tables()["The runs compared"][2:]], ["<img>", "<b>&amp;"])
        self.assertIn("<img src=x onerror=hostile=1>.tape", self.text("h1"))

    def test_of_one_moment_have_what_the_terminal_says(self):
        self.open(self.folder / "explain.html")
        self.assertEqual(self.text("pre").splitlines(), self.explained.splitlines())
        self.assertIn("resident on model:ptmalloc", self.text(".verdict"))

    def test_of_two_reports_have_gates_and_figures(self):
        self.open(self.folder / "diff.html")
        self.assertTrue(self.text(".verdict").startswith("FAIL"))
        tables = self.tables()
        self.assertEqual([row[:3] for row in tables["Gates"][1:]],
                         [[gate["expression"], gate["state"].upper()[:4], gate["run"]] for gate in self.diff["gates"]])
        metrics = self.diff["runs"][0]["metrics"]
        rows = tables["model:ptmalloc"][1:]
        self.assertGreater(len(rows), 5)
        for metric, base, now, *_ in rows:
            if metric.endswith("Bytes") and None not in (metrics[metric]["base"], metrics[metric]["new"]):
                self.assertEqual([base, now], [TEXTS["bytes"](metrics[metric][side]) for side in ("base", "new")], metric)

    def test_fit_a_phone(self):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
        for page in (*(made.path for made in self.pages.values()), self.folder / "explain.html", self.folder / "diff.html"):
            self.open(page)
            self.assertEqual(self.run_script("document.documentElement.scrollWidth"), 390, page)


if __name__ == "__main__":
    harness.main("no_script_test")
