"""The folded parts of a replay's page: sizes, lifetimes, buffers, holes, growths, latency, counters, fidelity, losses.

Whether their figures are those of the report is for random_test.py.
"""

import math
import re
import subprocess

from . import browser, harness
from .harness import Made, Pages, at_path
from .page_numbers import TEXTS

if not browser.missing():
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

PARTS = ["sizes", "lifetimes", "buffers", "holes", "heap-growths", "latency", "curves", "counters", "fidelity", "terms"]

# By the heading of a column: the metrics that may be below it.
HEADINGS = {
    "p50": {"p50Ns"},
    "p99": {"p99Ns"},
    "p99.9": {"p999Ns"},
    "max": {"maxNs"},
    "timed": {"samples"},
    "by": {"growthBytes"},
    "request, bytes": {"requestBytes"},
    "largest hole, bytes": {"largestHoleBytes"},
    "short by, bytes": {"shortBytes"},
    "free in all": {"freeBytes"},
    "from": {"fromBytes"},
    "to": {"toBytes"},
    "growths": {"length"},
    "in place": {"program.resizes.inPlace", "resizes.inPlace"},
    "moved": {"program.resizes.moved", "resizes.moved"},
    "copied": {"program.resizes.movedBytes", "resizes.movedBytes", "copiedBytes"},
    "operations": {"operations"},
    "work in all": {"workTotal"},
    "exponent": {"exponent"},
    "blocks where they were recorded": {"fidelity.sameOffsetShare"},
    "compared": {"fidelity.comparedBlocks"},
    "replayed": {"accounting.replayed"},
    "failed when recorded": {"accounting.failedCalls"},
    "frees of unknown blocks": {"accounting.unknownFrees"},
    "refused": {"accounting.refused"},
}


class Parts(Pages):
    @classmethod
    def make(cls):
        subprocess.run([harness.MAKE_TAPES, cls.folder], check=True, timeout=browser.PATIENCE)
        models = ["-a", "model:ptmalloc", "-a", "model:slabs", "-a", "recorded", "-a", "glibc", "-a", "again=glibc"]
        cls.pages = {
            "process": Made(cls.folder, "process", cls.folder / "process.tape", *models, "--latency"),
            "range": Made(cls.folder, "range", cls.folder / "process.tape", *models, "--from", "1001", "--to", "1500"),
            "stacks": Made(cls.folder, "stacks", cls.folder / "stacks.tape", "-a", "model:ptmalloc"),
            "imported": Made(cls.folder, "imported", cls.folder / "imported.tape", "-a", "glibc", "-a", "model:slabs"),
            "lossy": Made(cls.folder, "lossy", cls.folder / "lossy.tape", *models),
            "owners": Made(cls.folder, "owners", cls.folder / "facts.tape", "-a", "model:ptmalloc"),
            "owned": Made(cls.folder, "owned", cls.folder / "owned.tape", "-a", "model:ptmalloc"),
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

    def keep(self, name):
        """Opens it unless it is open, whatever was chosen there."""
        if self.driver.current_url != self.pages[name].path.as_uri():
            self.show(name)

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

    def test_of_fidelity_have_the_figures_of_each_run(self):
        self.keep("process")
        rows = self.run_script("""(data => { data.report.runs.forEach((run, i) =>
            { run.fidelity = {sameOffsetShare: 0.25, comparedBlocks: 10 * (i !== 1),
            firstDifference: 1000 * (i !== 0)}; });
            return [...heaptape.trust.fidelity(data).querySelectorAll('table')[1].tBodies[0].rows].map((row) =>
            [...row.cells].map((cell) => cell.textContent));
            })(JSON.parse(document.getElementById('data').textContent))""")
        first = (
            ["25.0000%", "10", "none"],
            ["-"] * 3,
            ["-"] * 3,
            ["25.0000%", "10", "#1,000"],
            ["25.0000%", "10", "#1,000"],
        )  # the third is the run itself
        counts = [
            [run["label"]]
            + [f"{run['accounting'][name]:,}" for name in ("replayed", "failedCalls", "unknownFrees", "refused")]
            for run in self.pages["process"].report["runs"]
        ]
        self.assertEqual(
            rows, [[label, *figures, *rest] for figures, (label, *rest) in zip(first, counts, strict=True)]
        )

    def test_of_fidelity_say_what_was_lost_or_refused(self):
        self.keep("process")
        facts = self.run_script("""[[0, 0], [1, 0], [0, 2]].map(([refused, lostRanges]) =>
            { const data = JSON.parse(document.getElementById('data').textContent);
            data.report.runs.forEach((run) => { run.fidelity = null; });
            data.report.runs[1].accounting.refused = refused; data.tape.lostRanges = lostRanges;
            return heaptape.trust.fidelity(data).querySelector('.fact').textContent; })""")
        self.assertEqual(facts, ["nothing was lost", "nothing was lost; calls were refused", "the tape is incomplete"])

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

    def test_of_latency_are_at_their_logarithms(self):
        self.keep("process")
        report = self.pages["process"].report
        rows = self.run_script("""[...document.querySelectorAll('#latency .range')].map((range) =>
            [range.closest('tr').querySelector('[data-path]').dataset.path,
            [...range.children].map((part) => [parseFloat(part.style.left), parseFloat(part.style.width || 0)])])""")
        timed = [one for run in report["runs"] for one in run.get("latency", [])]
        all_ns = [one[field] for one in timed for field in ("p50Ns", "maxNs") if one[field]]
        low, high = math.floor(math.log10(min(all_ns))), math.ceil(math.log10(max(all_ns)))
        place = lambda ns: max(0, (math.log10(max(1, ns)) - low) / (high - low) * 100)
        self.assertEqual(len(rows), len(timed))
        for path, parts in rows:
            one = at_path(report, path.rpartition(".")[0])
            left = place(one["p50Ns"])
            wanted = [(left, place(one["p999Ns"]) - left), (left, place(one["p99Ns"]) - left), (place(one["maxNs"]), 0)]
            for part, expected in zip(parts, wanted, strict=True):
                self.assertAlmostEqual(part[0], expected[0], delta=1e-3)
                self.assertAlmostEqual(part[1], expected[1], delta=1e-3)
        ticks = self.run_script("""[...document.querySelector('#latency .range-axis').children].map((tick) =>
            [tick.textContent, parseFloat(tick.style.left)])""")
        step = math.ceil((high - low) / 4)
        self.assertEqual(
            [text for text, _ in ticks],
            [f"{10 ** (power % 3)} {('n', 'u', 'm', '')[power // 3]}s" for power in range(low, high + 1, step)],
        )
        for (_, left), power in zip(ticks, range(low, high + 1, step)):
            self.assertAlmostEqual(left, (power - low) / (high - low) * 100, delta=1e-3)

    def test_have_each_figure_below_its_heading(self):
        self.keep("process")
        shown = self.run_script("""[...document.querySelectorAll('.folded table')].map((table) =>
            { const headings = [...table.tHead.rows[0].cells];
            return [...table.tBodies[0].rows].flatMap((row) => [...row.cells].map((cell, i) =>
            [headings[i].textContent, cell.dataset.path ?? null])); }).flat()""")
        found = {}
        for heading, path in shown:
            if path:
                found.setdefault(heading, set()).add(re.sub(r".*\.\d+\.", "", path))
        for heading, metrics in HEADINGS.items():
            self.assertLessEqual(found.get(heading, set()), metrics, heading)
        self.assertGreater(len(found.keys() & HEADINGS.keys()), len(HEADINGS) - 3)

    def rows(self, selector):
        return self.run_script("""[...document.querySelectorAll(arguments[0] + ' tbody tr')].map((row) =>
            [...row.cells].map((cell) => cell.textContent))""", selector)

    def test_of_the_process_say_who_has_its_memory(self):
        self.show("owners")
        self.assertEqual(self.fact("process"), "at its own peak, 14.3% of 975.6 KiB anonymous memory is malloc's")
        self.assertEqual(self.run_script("[...document.querySelectorAll('#process thead tr > *')].map((cell) => cell.textContent)"),
                         ["", "at the peak, at the exit, at the end, at its own peak"])
        self.assertEqual(self.rows("#process"), [
            ["malloc", "139.6 KiB"],
            ["libarrow", "145.5 KiB"],
            ["python3.11", "135.7 KiB"],
            ["stacks of threads", "143.6 KiB"],
            ["other", "411.1 KiB"],
            ["= anonymous", "975.6 KiB"],
        ])
        for path, value in self.run_script("[...document.querySelectorAll('#process [data-path]')].map((one) => [one.dataset.path, one.dataset.value])"):
            self.assertEqual(at_path(self.pages["owners"].report, path), int(value), path)
        self.assert_no_complaint()

    def test_of_the_process_have_a_chart_of_its_owners(self):
        self.show("owned")
        self.open("process")
        plot = WebDriverWait(self.driver, browser.PATIENCE).until(
            lambda driver: driver.find_element(By.CSS_SELECTOR, "#process .plot:has(canvas)"))
        values = lambda: self.run_script("""[...document.querySelectorAll('#process .value')].map((one) =>
            [...one.children].map((part) => part.textContent).filter(Boolean).join(' '))""")
        plot.send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(values(), ["malloc 1.00 MiB", "python3.11 (pymalloc) 2.00 MiB", "libarrow 3.00 MiB", "stacks of threads 1.00 MiB", "other 13.0 MiB"])
        for _ in range(10):
            plot.send_keys(Keys.SHIFT, Keys.ARROW_RIGHT)
        self.assertEqual(values(), ["malloc 4.00 MiB", "python3.11 (pymalloc) 8.00 MiB", "libarrow 0 B", "stacks of threads 1.00 MiB", "other 7.00 MiB"])
        self.assertIn("cursor at 4 s", self.driver.find_element(By.CSS_SELECTOR, "#process [role=status]").text)
        timeline = self.pages["owned"].report["process"]
        self.assertEqual([one["owner"] for one in timeline["owners"]], ["python3.11", "libarrow"])
        self.assertEqual(timeline["timeNs"], [second * 10**9 for second in range(1, 5)])
        self.assert_no_complaint()

    def test_of_the_process_have_no_chart_of_one_sample(self):
        self.show("owners")
        self.open("process")
        self.assertEqual(self.run_script("document.querySelectorAll('#process .plot').length"), 0)

    def test_of_growths_say_how_each_came_and_went(self):
        self.keep("process")
        runs = self.pages["process"].report["runs"]
        wanted = []
        for growth in (growth for run in runs for growth in run.get("heapGrowths", [])):
            pin = growth.get("pin") if growth["shortBytes"] else None
            wanted.append(
                [f"#{growth['at']:,}", TEXTS["bytes"](growth["growthBytes"])]
                + [f"{growth[name]:,}" for name in ("requestBytes", "largestHoleBytes", "shortBytes")]
                + [
                    f"{pin['requestedBytes']:,} bytes of #{pin['birth']:,}" if pin else "",
                    TEXTS["bytes"](growth["freeBytes"]),
                    f"#{growth['givenBackAt']:,}" if growth["givenBackAt"] else "never",
                ]
            )
        self.assertGreater(len(wanted), 3)
        self.assertEqual(self.rows("#heap-growths"), wanted)

    def test_of_buffers_say_which_grew_and_how_resizes_moved(self):
        self.keep("process")
        report = self.pages["process"].report
        resizes, chains = (self.rows(f"#buffers [aria-label='{name}']") for name in ("Resizes", "Growth chains"))
        wanted = [["as recorded", report["program"]["resizes"]]] + [
            [run["label"], run["resizes"]] for run in report["runs"] if run["label"] != "recorded" and "resizes" in run
        ]
        self.assertEqual(
            resizes,
            [
                [label, f"{one['inPlace']:,}", f"{one['moved']:,}", TEXTS["bytes"](one["movedBytes"])]
                for label, one in wanted
            ],
        )
        costliest = report["program"]["growthChains"]["costliest"]
        self.assertEqual(
            chains,
            [
                [
                    f"#{one['birth']:,}",
                    f"t{one['thread']}",
                    TEXTS["bytes"](one["fromBytes"]),
                    TEXTS["bytes"](one["toBytes"]),
                    f"{one['length']:,}",
                    TEXTS["bytes"](one["copiedBytes"]),
                ]
                for one in costliest
            ],
        )

    def test_of_sizes_have_the_share_of_each_measure(self):
        self.keep("process")
        bands = self.pages["process"].report["program"]["sizes"]
        for measure in ("askedBytes", "calls", "peakBytes"):
            self.driver.execute_script(f"document.querySelector('#sizes button[data-value={measure}]').click()")
            total, most = sum(band[measure] for band in bands), max(band[measure] for band in bands)
            after = self.run_script("""[...document.querySelectorAll('#sizes .amount')].map((one) =>
                one.children[1]?.textContent.trim() ?? '')""")
            for (_, _, width), text, band in zip(self.bars("#sizes"), after, bands, strict=True):
                self.assertAlmostEqual(width, band[measure] / most * 100, places=3)
                count = band["peakCount"]
                blocks = f", {count:,} block{'s' * (count != 1)}" if measure == "peakBytes" else ""
                self.assertEqual(text, TEXTS["share"](band[measure] / total) + blocks if band[measure] else "")

    def test_of_counters_have_a_column_for_each_run_that_counts(self):
        self.keep("process")
        runs = [
            run for run in self.pages["process"].report["runs"] if any(one["value"] for one in run.get("counters", []))
        ]
        names = list(dict.fromkeys(one["name"] for run in runs for one in run["counters"]))
        of_run = [{one["name"]: one["value"] for one in run["counters"]} for run in runs]
        wanted = [
            [name, *(f"{one[name]:,}" if name in one else "-" for one in of_run)]
            for name in names
            if any(one.get(name) for one in of_run)
        ]
        self.assertEqual(self.rows("#counters"), wanted)
        self.assertEqual(self.fact("counters"), f"{len(wanted)} of " + ", ".join(run["label"] for run in runs))

    def test_of_buffers_are_there_if_any_block_was_resized(self):
        self.open_any(self.pages["process"].path)
        facts = self.run_script("""[[0, 0], [0, 1], [1, 0]].map(([inPlace, moved]) =>
            heaptape.program.buffers({runs: [], report: {runs: [], program: {resizes: {inPlace, moved, movedBytes: 5},
            growthChains: {growths: 1200, count: 30, copiedBytes: 2048}}}})?.querySelector('.fact').textContent ??
            null)""")
        self.assertEqual(facts, [None] + ["1,200 growths of 30 buffers; as recorded their resizes copied 2.00 KiB"] * 2)

    def test_of_lifetimes_say_how_long_half_of_them_live(self):
        self.open_any(self.pages["process"].path)
        facts = self.run_script("""[[true, 1], [true, 2000], [false, 0]].map(([hasMedian, median]) =>
            heaptape.program.lifetimes({report: {program: {lifetimes: {blocks: 1234, shareAtZero: 0.25,
            calls: {hasMedian, median}}}}}).querySelector('.fact').textContent)""")
        self.assertEqual(
            facts,
            [
                "25.0% of 1,234 blocks are freed by the very next call; " + half
                for half in ("half live at most 1 call", "half live at most 2,000 calls", "half are never freed")
            ],
        )

    def test_of_losses_are_counted_in_words(self):
        self.open_any(self.pages["process"].path)
        banners = self.run_script("""[{lostEvents: 1, isFinished: true}, {lostRanges: 1, unrepairedInversions: 2,
            isFinished: false}, {isFinished: true}].map((tape) =>
            heaptape.trust.banner({tape})?.textContent ?? null)""")
        self.assertEqual(
            banners,
            [
                "This tape is incomplete: 1 call was lost while recording. All figures cover only what it has.",
                "This tape is incomplete: 2 blocks were handed out while they were alive, so their frees are missing; "
                "1 stretch of the tape is damaged; the tape was not finished, so later calls are unknown. "
                "All figures cover only what it has.",
                None,
            ],
        )

    def test_of_curves_have_the_fit_of_each_operation(self):
        self.keep("process")
        found, fact = self.run_script("""(data => { data.report.runs = [{growth: {curves: [
                {operation: 'malloc', work: 'bins', scale: 'holes', operations: 7, workTotal: 9, fitted: true,
            exponent: 1.5, exponentLow: 1, exponentHigh: 2, grows: true, verdict: 'slow'},
                {operation: 'free', work: 'bins', scale: 'blocks', operations: 8, workTotal: 1, fitted: false,
            exponent: 3, exponentLow: 1, exponentHigh: 2, grows: false, verdict: 'fine'}]}}, {}];
            const part = heaptape.trust.curves(data); return [[...part.querySelectorAll('tbody tr')].map((row) =>
            [...row.cells].map((cell) => cell.textContent)), part.querySelector('.fact').textContent]; })(
            JSON.parse(document.getElementById('data').textContent))""")
        label = self.pages["process"].report["runs"][0]["label"]
        self.assertEqual(
            found,
            [
                [label, "malloc", "bins", "holes", "7", "9", "1.5000", "1.0000 to 2.0000", "grows"],
                [label, "free", "bins", "blocks", "8", "1", "-", "-", ""],
            ],
        )
        self.assertEqual(fact, f"{label}: slow")

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

    def test_say_first_that_they_are_of_a_range(self):
        self.show("range")
        self.assertEqual(self.driver.find_element(By.ID, "banner").text, "The figures are of calls #1,001 to #1,500 alone: earlier ones were made, and count only in counters and growth.")

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
