"""What `heaptape diff --html` writes, in a browser: both reports side by side, what changed, and who asked for it."""

import json
import subprocess

from . import browser, harness
from .flame_graph import UsualFlameGraph
from .harness import Pages, complaints, figure, heaptape

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
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
        self.assert_opens_well(self.folder / "diff.html")

    def test_says_what_changed_right_under_the_verdict(self):
        base, now = self.folder / "base.json", self.folder / "buddies.json"
        heaptape("replay", self.folder / "fill.tape", "-a", "malloc=model:buddy", "-o", now)
        diff = heaptape("diff", base, now, "--html", self.folder / "buddies.html", "--format", "json")
        browser.show(self.driver, self.folder / "buddies.html")
        words = self.run_script("[...document.querySelectorAll('#headline, #headline + #parts li')].map((item) => item.textContent)")
        summary = json.loads(diff)["summary"]
        self.assertEqual(words, [summary["headline"], *("; ".join(filter(None, (part["text"], part["action"]))) for part in summary["parts"])])
        self.assertGreater(len(words), 2)

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

    def test_has_gates_that_failed_before_others(self):
        rows, folded = self.run_script("""(gates => [[...gates.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)),
            [gates.querySelector('details').open, gates.querySelectorAll('details tbody tr').length, gates.querySelector('summary').textContent]])(
            heaptape.diff.gates({gates: [["SKIP", "a > 1", "x", ""],
            ["PASS", "b > 1", "x", "1"], ["FAIL", "c > 1", "y", "2"], ["PASS", "d > 1", "z", "3"]]}))""")
        self.assertEqual(folded, [False, 3, "2 gate checks passed, 1 skipped"])
        self.assertEqual(
            rows,
            [
                ["c > 1", "FAIL", "y", "2"],
                ["b > 1", "PASS", "x", "1"],
                ["d > 1", "PASS", "z", "3"],
                ["a > 1", "SKIP", "x", ""],
            ],
        )

    def test_has_the_moments_in_order_and_begins_with_the_plateau(self):
        def choices(*states):
            return self.run_script("""(([states]) => { const names = states.flatMap((state) =>
                [state + '.liveBytes', state + '.account.holeBytes']);
                const made = heaptape.diff.account({backends: ['x', 'y'], runs: [{label: 'r', table: [['metric'],
                ...names.map((name) => [name])], exact: names.map((_, i) =>
                ({base: 10 + i, now: i === 1 ? null : 20 + i}))}]});
                const buttons = [...made.querySelectorAll('.tools button')];
                return [buttons.map((one) => one.textContent), buttons.find((one) =>
                one.getAttribute('aria-pressed') === 'true').textContent,
                    buttons.map((one) => { one.click(); return [...made.querySelectorAll('.bar')].map((bar) =>
                [bar.previousSibling.textContent, ...[...bar.children].map((part) => Number(part.dataset.value))]);
                })]; })(arguments)""", states)
        words, first, bars = choices("end", "atMark.x", "atPeak", "atPlateau")
        self.assertEqual((words, first), (["at the peak", "at the plateau", "at the end", "mark x"], "at the plateau"))
        self.assertEqual(
            bars,
            [
                [["r, base", 14, 15], ["r, new", 24, 25]],
                [["r, base", 16, 17], ["r, new", 26, 27]],
                [["r, base", 10, 11]],
                [["r, base", 12, 13], ["r, new", 22, 23]],
            ],
        )
        self.assertEqual(choices("atPeak", "atExit", "end")[1], "at the exit")
        self.assertEqual(choices("end", "atPeak")[1], "at the peak")

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


class Changes(UsualFlameGraph, Pages):
    """The base has 100 bytes of lex and 57 of read, the new tape 400 of lex and 7 of read."""

    @classmethod
    def make(cls):
        subprocess.run([harness.MAKE_TAPES, cls.folder], check=True, timeout=browser.PATIENCE)

        def replay(tape, name, *options):
            report = cls.folder / f"{name}.json"
            heaptape("replay", cls.folder / f"{tape}.tape", "-a", "model:ptmalloc", "-o", report, *options)
            return report

        base, now = replay("stacks", "base", "--to", "3"), replay("stacks", "now")
        gate = ("--fail-if", "peak.liveBytes>+5%")
        cls.text = heaptape("diff", base, now, "--html", cls.folder / "diff.html", *gate, status=1)
        cls.json = json.loads(heaptape("diff", base, now, "--format", "json", *gate, status=1))
        heaptape("diff", replay("sampled", "sampled"), now, "--html", cls.folder / "sampled.html")
        # Only the new one has a run "recorded".
        pins = replay("pinned", "fewer pins", "--to", "6"), replay("pinned", "pins", "-a", "recorded")
        heaptape("diff", *pins, "--html", cls.folder / "pinned.html")
        heaptape("diff", pins[1], pins[1], "--html", cls.folder / "itself.html")
        cls.of_holes = heaptape("diff", *pins, "--run", "model:ptmalloc", "--fail-if", "end.holes.bytes>+1%",
                                "--html", cls.folder / "holes.html", status=1)

    def setUp(self):
        self.show("diff")

    def show(self, name, **looks):
        browser.show(self.driver, self.folder / f"{name}.html", **looks)

    def test_opens_without_a_complaint(self):
        for name in ("diff", "sampled", "pinned"):
            with self.subTest(name):
                self.assert_opens_well(self.folder / f"{name}.html")

    def colour(self, name):
        return self.run_script("getComputedStyle(arguments[0]).backgroundColor.match(/[0-9]+/g).map(Number)", self.box(name))

    def test_has_the_sums_of_the_report(self):
        self.assertAlmostEqual(self.share("lex"), 400 / 407, places=2)
        ActionChains(self.driver).move_to_element(self.box("lex")).perform()
        self.assertIn("100 B in the base, 400 B in the new: +300 B", self.detail())

    def test_is_as_wide_as_the_base_on_request(self):
        self.driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        self.assertAlmostEqual(self.share("lex"), 100 / 157, places=2)
        self.assertAlmostEqual(self.share("read"), 57 / 157, places=2)

    def test_says_where_a_side_has_nothing(self):
        self.choose_metric("temporaries")
        self.driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, ".flame .rows").text,
                         "Nothing to show: 0 temporaries: freed by the next call.")
        self.assertEqual(complaints(self.driver), [])
        self.driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=now]").click()
        self.assertGreater(len(self.driver.find_elements(By.CSS_SELECTOR, ".frame")), 0)

    def test_is_orange_where_there_is_more_and_blue_where_there_is_less(self):
        red, _, blue = self.colour("lex")
        self.assertGreater(red, blue)
        self.driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        red, _, blue = self.colour("read")
        self.assertGreater(blue, red)

    def test_names_who_asked_for_most(self):
        rows = [row.text for row in self.driver.find_elements(By.CSS_SELECTOR, "#sites tbody tr")]
        self.assertIn("100 B 400 B +300 B", rows[0])
        self.assertIn("57 B 7 B -50 B", rows[1])
        self.driver.find_element(By.CSS_SELECTOR, "#sites tbody button").click()
        self.assertEqual(self.driver.find_element(By.ID, "flame-search").get_attribute("value"), "^lex app$")
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, ".frame.found")), 1)

    def test_says_right_under_the_verdict_why_gates_failed(self):
        reasons = self.run_script("[...document.querySelectorAll('#headline ~ #reasons li')].map((item) => item.textContent)")
        self.assertEqual(reasons, self.json["reasons"])
        self.assertEqual(reasons[0], "lex (lex.h:3) has 300 B more at the peak, all other sites 50 B less")
        self.assertTrue(reasons[1].startswith("+1 block of 300 B alive at the peak, requested by #2"), reasons)

    def test_says_nothing_of_reasons_where_nothing_failed(self):
        self.show("sampled")
        self.assertIsNone(self.run_script("document.getElementById('reasons')"))

    def test_calls_nothing_resident_of_the_run_itself(self):
        self.show("itself")
        sums = self.run_script("""[...document.querySelectorAll('#account .sum')].map((sum) =>
            [sum.previousSibling.previousSibling.textContent, sum.textContent.includes('in its heap')])""")
        self.assertEqual(sums, [[run + side, run == "recorded"] for run in ("model:ptmalloc", "recorded") for side in (", base", ", new")])

    def test_says_of_blocks_and_sites_what_the_diff_says(self):
        for part, name in (("blocks", "cohorts"), ("sites", "sites")):
            with self.subTest(part):
                self.compare_tables(part, len(self.json[name]))

    def test_says_which_blocks_stand_beside_holes_that_came(self):
        self.show("holes")
        headings = [heading.text for heading in self.driver.find_elements(By.CSS_SELECTOR, "#blocks h3")]
        self.assertIn("beside the holes of model:ptmalloc: blocks that account for the change of resident bytes in holes at the end",
                      headings)
        self.text = self.of_holes
        self.compare_tables("blocks", len(headings))
        reasons = [item.text for item in self.driver.find_elements(By.CSS_SELECTOR, "#reasons li")]
        self.assertIn("model:ptmalloc: read (app.cc:40) pins 19.5 KiB more at the end", reasons)

    def compare_tables(self, part, count):
        tables = self.run_script("""[...document.querySelectorAll(`#${arguments[0]} table`)].map((table) =>
            [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))""", part)
        self.assertEqual(len(tables), count)
        self.assertGreater(count, 0)
        lines = [line.split() for line in self.text.splitlines()]
        for row in sum(tables, []):
            self.assertIn(" ".join(row).split(), lines)

    def test_tells_what_is_under_the_pointer(self):
        ActionChains(self.driver).move_to_element(self.box("lex")).perform()
        self.assertIn("98.3% of all", self.detail())

    def test_figures_are_those_of_the_diff(self):
        self.assertIn(self.driver.find_element(By.ID, "verdict").text, self.text)
        shown = self.run_script("""[...document.querySelectorAll('#changes td[data-side]')].map((cell) => [
            cell.closest('tr').querySelector('th').textContent, cell.dataset.side, Number(cell.dataset.value)])""")
        rows = self.json["runs"][0]["metrics"]
        self.assertGreater(len(shown), 20)
        for metric, side, value in shown:
            self.assertEqual(value, float(rows[metric][side]), (metric, side))

    def test_leaves_room_for_figures_beside_long_names(self):
        self.show("diff", width=390, height=844)
        self.run_script("document.querySelector('#sites tbody th button').textContent = 'app::'.repeat(40)")
        self.assertLess(self.run_script("document.querySelector('#sites tbody th').offsetWidth"), 0.6 * 390)

    def test_breaks_words_only_where_they_need_half_of_a_phone(self):
        self.show("diff", width=390, height=844)
        heads = self.run_script("[...document.querySelectorAll('tbody th')].filter((head) => head.offsetWidth)"
                                ".map((head) => {const text = document.createRange(); text.selectNodeContents(head.querySelector('button') ?? head);"
                                " const lines = new Set([...text.getClientRects()].map((line) => line.top));"
                                " return [head.textContent, lines.size, head.offsetWidth];})")
        self.assertTrue(heads)
        for text, lines, width in heads:
            with self.subTest(text):
                self.assertTrue(lines <= len(text.split()) or width >= 390 / 2)

    def test_says_which_tape_is_estimated(self):
        self.show("sampled")
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, "#flame h2").text,
                         "Call stacks that grew and shrank (estimated)")
        text = self.driver.find_element(By.ID, "flame-estimated").text
        self.assertIn("Figures of the base are estimated from the stacks of 4 calls", text)
        self.assertIn("Figures of the new tape are exact.", text)

    def test_has_the_pinned_bytes_that_both_reports_have(self):
        self.show("pinned")
        self.assertEqual(self.moments(), ["bytes pinned at the peak and exit", "bytes pinned at the end"])
        self.choose("flame-value", self.moments()[-1])
        self.assertEqual(self.choices("flame-run"), ["model:ptmalloc: 9.78 KiB \u2192 29.3 KiB"])
        self.assertEqual(self.values()["read"], 25_024)
        self.driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        self.assertEqual(self.values()["read"], 5_008)


if __name__ == "__main__":
    harness.main("diff_test")
