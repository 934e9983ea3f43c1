"""The folded parts of a replay's page: sizes, lifetimes, buffers, holes, growths, latency, counters, fidelity, losses.

Whether their figures are those of the report is for random_test.py.
"""

import re
import subprocess

from . import browser, harness
from .harness import Made, Pages, at_path
from .page_numbers import TEXTS

if not browser.missing():
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

PARTS = ["sizes", "lifetimes", "buffers", "holes", "heap-growths", "latency", "curves", "counters", "fidelity"]


class Parts(Pages):
    @classmethod
    def make(cls):
        subprocess.run([harness.MAKE_TAPES, cls.folder], check=True, timeout=browser.PATIENCE)
        models = ["-a", "model:ptmalloc", "-a", "model:slabs", "-a", "recorded", "-a", "glibc", "-a", "again=glibc"]
        cls.pages = {
            "process": Made(cls.folder, "process", cls.folder / "process.tape", *models, "--latency"),
            "stacks": Made(cls.folder, "stacks", cls.folder / "stacks.tape", "-a", "model:ptmalloc"),
            "imported": Made(cls.folder, "imported", cls.folder / "imported.tape", "-a", "glibc", "-a", "model:slabs"),
            "lossy": Made(cls.folder, "lossy", cls.folder / "lossy.tape", *models),
            "torn": Made(cls.folder, "torn", cls.make_torn(), "-a", "model:ptmalloc"),
        }

    @classmethod
    def make_torn(cls):
        """A tape of which the end is missing."""
        tape = cls.folder / "torn.tape"
        whole = (cls.folder / "process.tape").read_bytes()
        tape.write_bytes(whole[:len(whole) * 3 // 4])
        return tape

    def show(self, name, **looks):
        browser.show(self.driver, self.pages[name].path, **looks)

    def open(self, part):
        self.driver.find_element(By.CSS_SELECTOR, f"#{part} summary").click()

    def bars(self, inside):
        """Name, figure, and how much of the longest bar."""
        return self.run_script("""[...document.querySelectorAll(arguments[0] + ' .bars .name')].map((name) => [name.textContent,
            name.nextSibling.nextSibling.firstChild.textContent, parseFloat(name.nextSibling.firstChild?.style.width ?? 0)])""", inside)

    def test_are_folded_behind_a_line_that_says_what_is_in_them(self):
        self.show("process")
        parts = self.run_script("""[...document.querySelectorAll('.folded')].map((part) =>
            [part.id, part.firstChild.open, part.querySelector('.fact').textContent])""")
        self.assertEqual([name for name, *_ in parts], PARTS)
        for name, is_open, fact in parts:
            self.assertFalse(is_open, name)
            self.assertGreater(len(fact), 10, name)
            self.assertNotRegex(fact, "undefined|NaN|null", name)

    def test_are_opened_with_the_keyboard(self):
        self.show("process")
        for name in PARTS:
            summary = self.driver.find_element(By.CSS_SELECTOR, f"#{name} summary")
            summary.send_keys(Keys.ENTER)
            self.assertTrue(self.run_script(f"document.querySelector('#{name} > details').open"), name)
        self.assert_no_complaint()

    def test_leave_the_first_screen_to_others(self):
        self.show("process")
        self.assertGreater(self.run_script("document.getElementById('sizes').getBoundingClientRect().top"), 900)

    def test_are_open_on_paper_and_folded_again(self):
        self.show("process")
        folded = "document.querySelectorAll('details:not([open])').length"
        before = self.run_script(folded)
        self.driver.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.run_script(folded), 0)
        self.driver.execute_script("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.run_script(folded), before)

    def test_of_sizes_have_those_live_at_the_peak_and_those_asked_for(self):
        self.show("stacks")
        self.assertIn("73.7% of the bytes live at the peak are in blocks of 256 B to 512 B",
                      self.run_script("document.querySelector('#sizes .fact').textContent"))
        self.open("sizes")
        shown = {name: text for name, text, _ in self.bars("#sizes")}
        self.assertEqual(shown, {"4 B to 8 B": "7 B", "8 B to 16 B": "0 B", "32 B to 64 B": "0 B",
                                 "64 B to 128 B": "100 B", "256 B to 512 B": "300 B"})
        self.driver.find_element(By.CSS_SELECTOR, "#sizes button[data-value=calls]").click()
        self.assertEqual({text for _, text, _ in self.bars("#sizes")}, {"1"})

    def test_of_sizes_have_bars_in_proportion(self):
        self.show("stacks")
        widths = {name: width for name, _, width in self.bars("#sizes")}
        self.assertAlmostEqual(widths["256 B to 512 B"], 100)
        self.assertAlmostEqual(widths["64 B to 128 B"], 100 / 3, places=3)

    def test_of_sizes_add_up_to_the_live_bytes_of_the_peak(self):
        report = self.pages["process"].report
        state = report["runs"][0]["atPeak"]
        sizes = report["program"]["sizes"]
        self.assertEqual(sum(band["peakBytes"] for band in sizes), state["liveBytes"])
        self.assertEqual(sum(band["peakCount"] for band in sizes), state["liveCount"])

    def test_of_lifetimes_rise_to_those_that_were_freed(self):
        self.show("process")
        lifetimes = self.pages["process"].report["program"]["lifetimes"]
        widths = [width for *_, width in self.bars("#lifetimes")]
        self.assertEqual(widths, sorted(widths))
        self.assertAlmostEqual(widths[-1], lifetimes["freed"] / lifetimes["blocks"] * 100, places=2)
        self.assertLess(len(widths), 40)

    def test_of_holes_are_on_one_scale_and_change_with_the_moment(self):
        self.show("process")
        runs = self.pages["process"].report["runs"]
        self.open("holes")
        for state in ("atPeak", "end"):
            self.driver.find_element(By.CSS_SELECTOR, f"#holes button[data-value={state}]").click()
            most = max(bucket["bytes"] for run in runs for bucket in run[state]["holes"].get("histogram", []))
            expected = [bucket["bytes"] / most * 100 for run in runs for bucket in run[state]["holes"].get("histogram", [])]
            shown = [width for *_, width in self.bars("#holes")]
            self.assertEqual(len(shown), len(expected))
            for width, wanted in zip(shown, expected):
                self.assertAlmostEqual(width, wanted, places=3)

    def test_of_growths_name_the_rule_of_a_model(self):
        self.show("process")
        [growth, *_] = self.pages["process"].report["runs"][0]["heapGrowths"]
        self.assertIn(growth["rule"], self.run_script("document.getElementById('heap-growths').textContent"))

    def test_have_all_digits_of_a_figure_below_the_pointer(self):
        self.show("process")
        shown = self.run_script("[...document.querySelectorAll('.folded [data-path][data-unit=bytes]')].map((one) => [one.title, one.dataset.value])")
        self.assertGreater(len(shown), 10)
        for title, value in shown:
            self.assertEqual(title, f"{int(value):,} B")

    def test_of_sizes_have_a_unit_for_each_measure(self):
        self.show("stacks")
        self.open("sizes")
        for measure, ending in (("askedBytes", " B"), ("calls", ""), ("peakBytes", " B")):
            self.driver.find_element(By.CSS_SELECTOR, f"#sizes button[data-value={measure}]").click()
            for _, text, _ in self.bars("#sizes"):
                self.assertRegex(text, rf"^\d+{ending}$", measure)

    def test_have_bands_that_meet(self):
        self.show("stacks")
        bands = [text.split(" to ") for text in self.run_script("[...Array(50).keys()].map(heaptape.bandText)")]
        self.assertEqual(bands[0], ["0", "2 B"])
        self.assertEqual(bands[20], ["1 MiB", "2 MiB"])
        for (_, end), (begin, _) in zip(bands, bands[1:]):
            self.assertEqual(end, begin)

    def test_of_lifetimes_have_each_share_beside_its_words(self):
        self.show("process")
        rows = self.run_script("[...document.querySelectorAll('#lifetimes tbody tr')].map((row) => [row.cells[0].textContent, row.cells[1].dataset.path])")
        self.assertEqual([path and path.removeprefix("program.lifetimes.") for _, path in rows],
                         ["blocks", "shareAtZero", "shareUnderTenThousandth", "shareUnderTenth", "calls.median", "survivors", "survivorBytes"])
        self.assertEqual([words for words, _ in rows][1:4], ["freed by the very next call", "lived less than 0.01% of the run's calls", "lived less than 10% of the run's calls"])

    def fact(self, part):
        return self.run_script(f"document.querySelector('#{part} .fact').textContent")

    def test_of_holes_name_the_run_with_least_before_that_with_most(self):
        self.show("process")
        state = "atPlateau" if any(run.get("atPlateau") for run in self.pages["process"].report["runs"]) else "atPeak"
        sums = [run[state]["holes"]["bytes"] for run in self.pages["process"].report["runs"] if run.get(state, {}).get("holes")]
        self.assertLess(min(sums), max(sums))
        self.assertRegex(self.fact("holes"), f" has {TEXTS['bytes'](min(sums))} in .*; .* has {TEXTS['bytes'](max(sums))} in ")

    def test_of_growths_name_the_largest(self):
        self.show("process")
        runs = self.pages["process"].report["runs"]
        growth, label = max((run["heapGrowths"][0]["growthBytes"], run["label"]) for run in runs if run.get("heapGrowths"))
        self.assertTrue(self.fact("heap-growths").startswith(f"the largest: {label} took {TEXTS['bytes'](growth)} at "), self.fact("heap-growths"))

    def test_of_latency_name_the_run_that_is_fastest(self):
        self.show("process")
        timed = [one["p99Ns"] for run in self.pages["process"].report["runs"] for one in run.get("latency", [])[:1]]
        self.assertGreater(len(timed), 1)
        self.assertRegex(self.fact("latency"), f" has the lowest p99 of .*: {re.escape(TEXTS['ns'](min(timed)))}$")

    def test_of_latency_say_which_call_was_the_slowest(self):
        self.show("process")
        rows = self.run_script("""[...document.querySelectorAll('#latency tbody tr')].filter((row) => row.querySelector('[data-path]'))
            .map((row) => [row.querySelector('[data-path]').dataset.path.replace(/[^.]*$/, ''), row.cells[row.cells.length - 2].textContent])""")
        self.assertGreater(len(rows), 0)
        for path, text in rows:
            self.assertEqual(text, f"#{int(at_path(self.pages['process'].report, path + 'maxAt')):,}")

    def test_of_fidelity_name_the_best_run(self):
        self.show("process")
        fact = self.run_script("""(data => { data.report.runs.forEach((run, i) => {
                run.fidelity = {sameOffsetShare: [0.25, 0.75, 1][i] ?? 0.5, comparedBlocks: 10, firstDifference: 1}; });
            return heaptape.trust.fidelity(data).querySelector('.fact').textContent; })(JSON.parse(document.getElementById('data').textContent))""")
        self.assertIn("75.0000% of the blocks of model:slabs lie where they were recorded", fact)

    def test_of_latency_have_ranges_in_order_over_an_axis_with_units(self):
        self.show("process")
        self.open("latency")
        rows = self.run_script("""[...document.querySelectorAll('#latency .range')].map((range) =>
            [...range.children].map((part) => [part.className, parseFloat(part.style.left), parseFloat(part.style.width || 0)]))""")
        self.assertGreater(len(rows), 0)
        for (_, from_p50, to_p999), (_, left, to_p99), (_, slowest, _) in rows:
            self.assertEqual(from_p50, left)
            self.assertLessEqual(to_p99, to_p999 + 1e-3)
            self.assertLessEqual(from_p50 + to_p999, slowest + 1e-3)
        ticks = self.run_script("[...document.querySelector('#latency .range-axis').children].map((tick) => tick.textContent)")
        self.assertGreater(len(ticks), 1)
        for tick in ticks:
            self.assertRegex(tick, r"^10{0,2} (ns|us|ms|s)$")

    def test_of_counters_leave_out_those_that_are_0_everywhere(self):
        self.show("process")
        shown = self.run_script("[...document.querySelectorAll('#counters tbody th')].map((name) => name.textContent)")
        counted = {one["name"] for run in self.pages["process"].report["runs"] for one in run.get("counters", []) if one["value"]}
        self.assertEqual(set(shown), counted)

    def test_say_first_what_is_lost(self):
        self.show("lossy")
        banner = self.driver.find_element(By.ID, "banner")
        self.assertEqual(banner.text, "This tape is incomplete: calls to jemalloc inside '/bin/<b>', if any, were not seen; 12 calls were lost while recording; 2 stretches of the tape are damaged. All figures cover only what it has.")
        verdict = self.driver.find_element(By.ID, "verdict")
        self.assertLess(banner.location["y"], verdict.location["y"])
        self.assertEqual(self.run_script("document.querySelector('#fidelity [data-path=\"tape.losses.lostEvents\"]').textContent"), "12")

    def test_say_first_what_an_imported_trace_lacks(self):
        self.show("imported")
        banner = self.driver.find_element(By.ID, "banner").text
        self.assertEqual(banner, "Not in this trace, which was imported from malloclab: threads, addresses, times.")
        facts = self.run_script("document.querySelector('.facts').textContent")
        self.assertIn("imported from malloclab", facts)
        self.assertNotIn("thread", facts)
        self.assertIn("addresses are not in this trace", self.run_script("document.getElementById('fidelity').textContent"))

    def test_say_first_where_a_tape_was_not_finished(self):
        self.show("torn")
        self.assertIn("the tape was not finished, so later calls are unknown", self.driver.find_element(By.ID, "banner").text)

    def test_say_nothing_of_losses_where_there_are_none(self):
        self.show("process")
        self.assertIsNone(self.run_script("document.getElementById('banner')"))

    def test_of_fidelity_do_not_compare_the_recorded_run_with_itself(self):
        self.show("process")
        rows = self.run_script("""[...document.querySelectorAll('#fidelity table')[1].tBodies[0].rows].map((row) =>
            [row.cells[0].textContent, row.cells[1].dataset.path ?? null])""")
        report = self.pages["process"].report
        for label, path in rows:
            self.assertTrue(label != "recorded" or path is None)
            if path:
                self.assertGreater(at_path(report, path), -1)

    def test_fit_a_phone(self):
        self.show("process", width=390, height=844)
        self.driver.execute_script("for (const folded of document.querySelectorAll('details')) folded.open = true")
        self.assertEqual(self.run_script("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    harness.main("parts_test")
