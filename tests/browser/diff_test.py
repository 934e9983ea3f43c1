"""Two reports side by side: what `heaptape diff --html` draws of both. Its tables and flame graph: page_test.py."""

import json

from . import browser, harness
from .harness import Pages, figure, heaptape

if not browser.missing():
    from selenium.webdriver.common.by import By


class SideBySide(Pages):
    @classmethod
    def make(cls):
        tape = cls.folder / "fill.tape"
        heaptape("scenario", "fill", "-o", tape)
        cls.reports = {}
        for side, options in (("base", ""), ("new", ":tcache_count=0")):
            report = cls.folder / f"{side}.json"
            heaptape("replay", tape, "-a", f"malloc=model:ptmalloc{options}", "-a", "slabs=model:slabs", "-o", report)
            cls.reports[side] = json.loads(report.read_text())
        heaptape("diff", cls.folder / "base.json", cls.folder / "new.json", "--html", cls.folder / "diff.html")

    def setUp(self):
        browser.show(self.driver, self.folder / "diff.html")

    def bars(self):
        return self.run_script("""[...document.querySelectorAll('#account .bar')].map((bar) => [bar.previousSibling.textContent.split(', '),
            [...bar.children].map((part) => [part.dataset.metric, Number(part.dataset.value), parseFloat(part.style.width)])])""")

    def run_of(self, side, label):
        [run] = [one for one in self.reports[side]["runs"] if one["label"] == label]
        return run

    def test_opens_without_a_complaint(self):
        for looks in ({}, {"width": 390, "height": 844, "scheme": "dark"}):
            browser.show(self.driver, self.folder / "diff.html", **looks)
            self.assert_no_complaint()
            self.assertEqual(self.run_script("document.documentElement.scrollWidth"), looks.get("width", 1440))

    def test_has_the_account_of_the_base_above_that_of_the_new(self):
        self.assertEqual([names for names, _ in self.bars()], [["malloc", "base"], ["malloc", "new"], ["slabs", "base"], ["slabs", "new"]])

    def test_has_the_accounts_of_each_moment_on_one_scale(self):
        buttons = self.driver.find_elements(By.CSS_SELECTOR, "#account .tools button")
        self.assertGreater(len(buttons), 1)
        for button in buttons:
            button.click()
            state = button.get_attribute("data-value")
            bytes_a_percent = set()
            for (label, side), parts in self.bars():
                self.assertGreater(len(parts), 0)
                for metric, value, width in parts:
                    self.assertEqual(value, figure(self.run_of(side, label), f"{state}.{metric}"), (label, side, metric))
                    if width > 1:
                        bytes_a_percent.add(round(value / width / 100))
            self.assertLess(max(bytes_a_percent) / min(bytes_a_percent), 1.001)

    def test_marks_the_gates_that_failed(self):
        rows = self.run_script("""[...heaptape.diff.gates({gates: [["FAIL", "a > 1", "malloc", "new 2"], ["PASS", "b > 1", "malloc", "new 1"],
            ["SKIP", "c > 1", "malloc", ""]]}).querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('.failed')].map((cell) => cell.textContent))""")
        self.assertEqual(rows, [["FAIL"], [], []])

    def test_knows_the_allocator_of_each_line(self):
        heaptape("replay", self.folder / "fill.tape", "-a", "malloc=model:slabs", "-o", self.folder / "other.json")
        heaptape("diff", self.folder / "base.json", self.folder / "other.json", "--html", self.folder / "other.html")
        browser.show(self.driver, self.folder / "other.html")
        self.driver.execute_script("""const data = JSON.parse(document.getElementById('data').textContent);
            window.backends = []; const {charts} = heaptape;
            heaptape.charts = ({runs}) => { backends = runs.map((run) => [run.label, run.backend]); };
            heaptape.diff.charts(data, document.body); heaptape.charts = charts;""")
        self.assertEqual(self.run_script("backends"), [["malloc, base", "model:ptmalloc"], ["malloc, new", "model:slabs"]])

    def test_has_the_lines_of_both_reports(self):
        lists, series = self.run_script("(data => [data.timeline.lists, data.timeline.series])(JSON.parse(document.getElementById('data').textContent))")
        sides = [("base", "malloc"), ("new", "malloc"), ("base", "slabs"), ("new", "slabs")]
        for one in series:
            for (side, label), line in zip(sides, one["runs"]):
                self.assertEqual(lists[line["values"]], figure(self.run_of(side, label)["timeline"], one["metric"]), (side, label, one["metric"]))

    def test_draws_the_base_dashed_in_the_colour_of_the_new(self):
        strokes = self.run_script("""[...document.querySelectorAll('#timeline .key')].map((key) => [key.textContent,
            getComputedStyle(key.querySelector('line')).stroke, key.querySelector('line').getAttribute('stroke-dasharray')])""")
        self.assertEqual([text for text, *_ in strokes], ["malloc, base", "malloc, new", "slabs, base", "slabs, new"])
        for (_, base_colour, base_dash), (_, colour, dash) in zip(strokes[::2], strokes[1::2]):
            self.assertEqual(base_colour, colour)
            self.assertIsNotNone(base_dash)
            self.assertIsNone(dash)
        self.assertNotEqual(strokes[0][1], strokes[2][1])


if __name__ == "__main__":
    harness.main("diff_test")
