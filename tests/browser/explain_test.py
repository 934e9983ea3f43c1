"""What `heaptape explain --html` writes, in a browser. That its figures are those of the JSON: random_test.py."""

import re
import subprocess

from . import browser, harness
from .harness import Pages, heaptape

if not browser.missing():
    from selenium.webdriver.common.by import By


class Explained(Pages):
    @classmethod
    def make(cls):
        subprocess.run([harness.MAKE_TAPES, cls.folder], check=True, timeout=browser.PATIENCE)
        cls.texts = {}
        for name, at in (("pinned", "end"), ("process", "peak"), ("hostile", "end"), ("sampled", "peak"), ("lossy", "peak")):
            cls.texts[name] = cls.explain(f"{name}.tape", "model:ptmalloc", at, name)
        cls.texts["recorded"] = cls.explain("process.tape", "recorded", "peak", "recorded")
        cls.texts["late"] = cls.explain("late.tape", "recorded", "end", "late")
        cls.texts["never-sampled"] = cls.explain("small.tape", "recorded", "end", "never-sampled")

    @classmethod
    def explain(cls, tape, spec, at, name):
        return heaptape("explain", cls.folder / tape, "-a", spec, "--at", at, "--html", cls.folder / f"{name}.html")

    def show(self, name, **looks):
        browser.show(self.driver, self.folder / f"{name}.html", **looks)

    def text(self, selector):
        return self.run_script("document.querySelector(arguments[0]).textContent", selector)

    def test_opens_without_a_complaint(self):
        for name in self.texts:
            with self.subTest(name):
                self.assert_opens_well(self.folder / f"{name}.html")

    def test_says_first_where_the_memory_is_and_who_pins_it(self):
        self.show("pinned")
        self.assertRegex(self.text("#verdict"), r"^The \d.* resident on model:ptmalloc at the end: .*% live")
        self.assertIn(" resident in holes are beside 1 block of 24 bytes, born from #3 to #3, most for read (app.cc:40).", self.text("#where"))
        self.assertLess(self.driver.find_element(By.CSS_SELECTOR, ".bar").location["y"], 400)

    def test_says_of_each_part_what_the_account_has(self):
        for name in ("pinned", "process"):
            with self.subTest(name):
                self.show(name)
                state = self.run_script("JSON.parse(document.getElementById('data').textContent).explanation.state")
                account = {part: int(value) for part, value in state["account"].items()}
                live, slack, untouched = int(state["liveBytes"]), int(state["slackBytes"]), account["untouchedBytes"]
                parts = {
                    "live": live - min(untouched, live),
                    "slack within blocks": slack - min(untouched - min(untouched, live), slack),
                    "the allocator's own": account["metadataBytes"],
                    "cached for reuse": account["cachedBytes"],
                    "holes between blocks": account["holeBytes"],
                    "free at the ends of regions": account["topBytes"],
                }
                whole = sum(parts.values())
                said = {words: float(share) for share, words in re.findall(r"([0-9.]+)% ([a-z' ]+)", self.text("#verdict"))}
                self.assertEqual(set(said), {words for words, part in parts.items() if part and part >= whole // 100})
                for words, share in said.items():
                    self.assertAlmostEqual(share, 100 * parts[words] / whole, delta=0.051)

    def test_has_memory_from_before_a_late_start(self):
        self.show("late")
        self.assertRegex(self.text("#verdict"), r"[0-9.]+% unseen memory from before")
        account = self.run_script("JSON.parse(document.getElementById('data').textContent).explanation.state.account")
        part = self.driver.find_element(By.CSS_SELECTOR, ".bar [data-metric='account.late.unseenBytes']")
        self.assertEqual(part.get_attribute("data-value"), str(account["late"]["unseenBytes"]))
        self.assertIn("unseen: from before the recording", self.text("#account"))

    def test_names_no_pin_of_a_hole_beside_unseen_memory(self):
        self.show("late")
        self.assertRegex(self.text("#holes"), r"unseen memory1,000 bytes of #2, thread 0not known-")

    def test_has_a_bar_whose_parts_are_those_of_the_account(self):
        self.show("pinned")
        shown = self.run_script("""[...document.querySelectorAll('.bar .part')].map((part) => Number(part.dataset.value)).reduce((all, one) => all + one)""")
        resident, untouched = self.run_script("""(state => [state.residentBytes, state.account.untouchedBytes])(
            JSON.parse(document.getElementById('data').textContent).explanation.state)""")
        self.assertEqual(shown, resident + untouched)

    def test_says_what_the_terminal_says(self):
        tables = ["account", "remedies", "pins", "heap-growths"]
        # Sites have lines of their own on the terminal.
        for name, shown in (("process", tables), ("recorded", tables), ("never-sampled", ["account"])):
            with self.subTest(name):
                self.show(name)
                words = " ".join(self.texts[name].split())
                rows = self.run_script("""[...document.querySelectorAll(arguments[0])]
                                          .map((row) => [...row.cells].map((cell) => cell.textContent).filter(Boolean))""",
                                       ", ".join(f"#{table} tbody tr" for table in shown))
                for row in rows:
                    self.assertIn(" ".join([text.removeprefix("t") if i == 2 else text for i, text in enumerate(row)]), words)

    def test_the_recorded_run_has_what_was_sampled(self):
        for name, size in (("recorded", r"[0-9.]+ .?i?B"), ("never-sampled", "-")):
            with self.subTest(name):
                self.show(name)
                self.assertRegex(self.text("#account"), "resident, as sampled" + size)
                self.assertNotIn("= resident", self.text("#account"))

    def test_has_its_parts_in_their_order(self):
        self.show("pinned")
        self.assertEqual(self.run_script("""[...document.querySelectorAll('section')].map((one) =>
            one.id)"""), ["account", "remedies", "pins", "holes", "sites", "heap-growths", "terms"])

    def test_has_what_was_tried_beside_the_first_estimate(self):
        self.open_any(self.folder / "pinned.html")
        rows = self.run_script("""[[1000, 400], [400, 1000], null].map((tried) =>
            [...heaptape.explain.parts[1]({explanation: {estimates: [{what: 'trim', bytes: 2048},
            {what: 'new one', bytes: 5}],
            actions: tried ? [{residentBytesBefore: tried[0],
            residentBytesAfter: tried[1]}] : []}}).querySelectorAll('tbody tr')].map((row) =>
            [...row.cells].map((cell) => cell.textContent)))""")
        self.assertEqual(
            rows, [[["malloc_trim(0)", "2.00 KiB", tried], ["new one", "5 B", ""]] for tried in ("600 B", "0 B", "")]
        )

    def test_has_holes_in_proportion_and_what_is_resident_only_where_it_is_known(self):
        self.open_any(self.folder / "pinned.html")
        found = self.run_script("""[[], ['residentPages']].map((lacks) => [...heaptape.explain.parts[3]({explanation:
            {lacks, holeSizes: [{log2Size: 6, count: 2000, bytes: 300, residentBytes: 7},
            {log2Size: 7, count: 1, bytes: 1200, residentBytes: 0}]}}).querySelectorAll('.bars .name')].map((name) =>
            [name.textContent, parseFloat(name.nextSibling.firstChild.style.width),
            name.nextSibling.nextSibling.textContent]))""")
        self.assertEqual(
            found,
            [
                [["64 B to 128 B", 25, f"300 B in 2,000{seven}"], ["128 B to 256 B", 100, f"1.17 KiB in 1{none}"]]
                for seven, none in ((", 7 B resident", ", 0 B resident"), ("", ""))
            ],
        )

    def test_says_at_which_time(self):
        self.show("process")
        facts = self.run_script("""(data => { data.explanation.moment.timeNs = 1_500_000_000;
            return heaptape.explain.head(data)[1].textContent; })(JSON.parse(document.getElementById('data').textContent))""")
        self.assertIn(" calls, 1.500 s", facts)

    def test_has_the_blocks_on_both_sides_of_a_hole(self):
        self.show("pinned")
        [row, *_] = self.run_script("[...document.querySelectorAll('#holes tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
        self.assertEqual(row[1], "19.5 KiB")
        self.assertTrue(row[3].startswith("24 bytes of #3, thread 0"), row)
        self.assertTrue(row[4].startswith("30,000 bytes of #6, thread 0"), row)

    def test_names_who_asked(self):
        self.show("pinned")
        rows = self.run_script("[...document.querySelectorAll('#sites tbody tr')].map((row) => row.cells[0].textContent)")
        self.assertEqual([row.split(" ")[0] for row in rows], ["read", "main"])
        self.assertEqual(self.text("#sites h2"), "Call sites of the blocks")

    def test_says_where_sites_are_estimates(self):
        self.show("sampled")
        self.assertEqual(self.text("#sites h2"), "Call sites of the blocks (estimated)")

    def test_says_first_what_is_lost(self):
        self.show("lossy")
        self.assertIn("12 calls were lost while recording", self.text("#banner"))

    def test_runs_nothing_of_strangers(self):
        self.show("hostile")
        self.assertIsNone(self.run_script("window.hostile ?? null"))
        self.assertEqual(self.run_script("document.querySelectorAll('img').length"), 0)
        self.assertIn("<img", self.text("main"))


if __name__ == "__main__":
    harness.main("explain_test")
