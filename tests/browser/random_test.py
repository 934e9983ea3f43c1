"""Reports of random tapes and options: each page opens without a complaint, and each of its figures is that of the report.

HEAPTAPE_TEST_SEED is the seed, else it is always the same; HEAPTAPE_PAGES says how many reports; 40 by default.
"""

import json
import os
import random
import subprocess

from . import browser, harness
from .harness import Pages, at_path, figure, heaptape
from .page_numbers import TEXTS

SEED = int(os.environ.get("HEAPTAPE_TEST_SEED") or 20261123)
COUNT = int(os.environ.get("HEAPTAPE_PAGES") or 40)
MODELS = ["model:ptmalloc", "model:slabs", "model:runs", "model:ideal", "model:first-fit", "model:buddy", "model:bump"]
PLACING = [model for model in MODELS if model != "model:ideal"]
REAL = ["recorded", "noop", "glibc", "jemalloc"]

# All figures that are there, after each choice that a reader can make was made.
SHOWN = """(() => {
    for (const folded of document.querySelectorAll('details')) folded.open = true;
    const found = new Map();
    const look = () => {
        for (const one of document.querySelectorAll('[data-value]:is([data-path], td[data-metric], .part[data-metric])')) {
            if (one.dataset.path === undefined && !one.closest('#runs, #account')) continue;
            const row = one.closest('tr, .bar');
            const run = one.dataset.path !== undefined ? '' : (row.matches('tr') ? row.cells[0] : row.previousSibling).textContent;
            const metric = one.matches('.bar .part') ? one.closest('.account').dataset.state + '.' + one.dataset.metric : one.dataset.metric;
            found.set(run + ' ' + (one.dataset.path ?? metric) + one.tagName, [run, one.dataset.path ?? null, metric ?? null, one.dataset.value,
                      one.dataset.unit ?? null, one.matches('.bar .part') ? null : one.textContent]);
        }
    };
    look();
    for (const button of document.querySelectorAll('#account .tools button, .folded .tools button')) { button.click(); look(); }
    return [...found.values()];
})()"""

# Of two reports.
DIFFERENCES = """[...document.querySelectorAll('#changes td[data-side]')].map((cell) => [
    cell.closest('.run').dataset.label, cell.closest('tr').cells[0].textContent, cell.dataset.side, cell.dataset.value])
    .concat([...document.querySelectorAll('#account .bar')].flatMap((bar) => {
        const [label, side] = bar.previousSibling.textContent.split(', ');
        const state = bar.parentElement.dataset.state;
        return [...bar.children].map((part) => [label, state + '.' + part.dataset.metric, side, part.dataset.value]);
    }))"""


def number(value):
    return int(value) if isinstance(value, str) else value


def random_options(choose):
    specs = choose.sample(MODELS, choose.randint(0, 3)) + choose.sample(REAL, choose.randint(0, 2))
    options = []
    for i, spec in enumerate(specs or ["recorded"]):
        options += ["-a", f"<b>{i}&amp;={spec}" if choose.random() < 0.2 else spec]
    if choose.random() < 0.3:
        options += ["--samples", str(choose.choice([1, 2, 17, 1000]))]
    if choose.random() < 0.2:
        options += ["--to", str(choose.randint(1, 4000))]
    if choose.random() < 0.3:
        options += ["--latency"]
    elif choose.random() < 0.2:
        options += ["--jobs", "2"]
    if choose.random() < 0.2:
        options += ["--do", "trim@end"]
    return options


class RandomReports(Pages):
    @classmethod
    def make(cls):
        print(f"HEAPTAPE_TEST_SEED={SEED}", flush=True)
        subprocess.run([harness.MAKE_TAPES, cls.folder, str(COUNT), str(SEED)], check=True, timeout=browser.PATIENCE)
        cls.page, cls.report = cls.folder / "page.html", cls.folder / "report.json"

    def check(self, report):
        """Returns how many figures there are."""
        runs = {one["label"]: one for one in report.get("runs", [])}
        shown = self.run_script(SHOWN)
        for label, path, metric, value, unit, text in shown:
            where = path or (None if runs else metric)  # of one moment all is a path
            expected = number(at_path(report, where) if where else figure(runs[label], metric))
            self.assertEqual(float(value), float(expected), (label, path, metric))
            if text is None:
                continue
            wanted = TEXTS[unit](expected)
            if path is None and unit == "ratio":
                wanted = wanted[:-2]  # tables of runs have two digits of the four
            # A 0 that says nothing, of noop's memory or the recorded run's time, is a dash there.
            if path is None and text == "-" and expected == 0:
                continue
            self.assertEqual(text, wanted, (label, path, metric))
        return len(shown)

    def look_at(self, choose, report):
        scheme, width = choose.choice(["light", "dark"]), choose.choice([390, 1440])
        browser.show(self.driver, self.page, width=width, scheme=scheme)
        figures = self.check(report)
        self.assertEqual(self.run_script("document.documentElement.scrollWidth"), width)
        self.assert_no_complaint()
        return figures

    def test_open_and_show_the_figures_of_their_json(self):
        choose = random.Random(SEED)
        figures = 0
        for i in range(COUNT):
            options = random_options(choose)
            with self.subTest(tape=i, options=options, seed=SEED):
                heaptape("replay", self.folder / f"{i}.tape", "--html", self.page, "-o", self.report, *options)
                figures += self.look_at(choose, json.loads(self.report.read_text()))
        self.assertGreater(figures, 100 * COUNT)
        print(f"{figures} figures of {COUNT} pages", flush=True)

    def test_of_one_moment_show_the_figures_of_their_json(self):
        choose = random.Random(SEED + 1)
        figures = 0
        for i in range(0, COUNT, 8):
            options = ["-a", choose.choice(PLACING), "--at", choose.choice(["peak", "exit", "end"]), "--top", str(choose.randint(1, 30))]
            with self.subTest(tape=i, options=options, seed=SEED):
                made = heaptape("explain", self.folder / f"{i}.tape", "--html", self.page, "--json", *options)
                figures += self.look_at(choose, json.loads(made))
        self.assertGreater(figures, 10 * COUNT / 8)

    def test_of_two_show_the_figures_of_their_diff(self):
        choose = random.Random(SEED + 2)
        reports = [self.folder / "base.json", self.folder / "new.json"]
        for i in range(0, COUNT, 10):
            specs = choose.sample(MODELS + REAL, 3)
            for report, tape in zip(reports, choose.sample(range(COUNT), 2)):
                heaptape("replay", self.folder / f"{tape}.tape", "-o", report, *(word for spec in specs for word in ("-a", spec)))
            with self.subTest(page=i, specs=specs, seed=SEED):
                made = json.loads(heaptape("diff", *reports, "--html", self.page, "--format", "json"))
                browser.show(self.driver, self.page, width=choose.choice([390, 1440]))
                self.assert_no_complaint()
                shown = self.run_script(DIFFERENCES)
                for label, metric, side, value in shown:
                    [run] = [one for one in made["runs"] if one["label"] == label]
                    self.assertEqual(float(value), float(number(run["metrics"][metric][side])), (label, metric, side))
                self.assertGreater(len(shown), 50)


if __name__ == "__main__":
    harness.main("random_test")
