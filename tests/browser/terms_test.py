"""Terms explain themselves on pages, as docs/metrics.md does, to a pointer, a finger and the keyboard."""

from pathlib import Path

from . import browser, harness
from .harness import heaptape
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

# Of the elements that may move: all but the tip.
PLACES = """[...document.querySelectorAll('body *:not(#tip):not(#tip *)')].map((one) => {
    const {left, top, width, height} = one.getBoundingClientRect(); return [left, top, width, height].join(' '); })"""


def terms_of_docs():
    """{term: meaning}, without marks of Markdown."""
    lines = Path("docs/metrics.md").read_text("utf-8").split("## Terms")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {term: meaning.replace("`", "") for term, meaning, _ in rows[1:]}


class Terms(ReplayPages):
    wanted = ("process, replayed", "pinned", "fill", "hostile")

    @classmethod
    def make(cls):
        super().make()
        cls.explained, cls.diff = cls.folder / "explain.html", cls.folder / "diff.html"
        heaptape("explain", cls.folder / "pinned.tape", "-a", "model:ptmalloc", "--at", "peak", "--html", cls.explained)
        heaptape("diff", cls.folder / "pinned.json", cls.folder / "fill.json", "--run", "recorded", "--html", cls.diff)

    def term(self, name, inside="#runs"):
        return self.driver.find_element(By.CSS_SELECTOR, f"{inside} .term[data-terms~='{name}']")

    def test_say_what_the_documentation_says(self):
        self.show("fill")
        shown = self.run_script("[...document.querySelectorAll('#terms dt')].map((one) => [one.textContent, one.nextSibling.textContent])")
        documented = terms_of_docs()
        self.assertGreater(len(shown), 15)
        for name, text in shown:
            self.assertEqual(text, documented.get(name), name)

    def test_are_described_to_a_screen_reader(self):
        for page in (self.pages["process, replayed"].path, self.explained, self.diff):
            browser.show(self.driver, page)
            names = self.run_script("""[...document.querySelectorAll('.term')].map((one) => [one.dataset.terms.split(','),
                one.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).previousSibling.textContent)])""")
            self.assertGreater(len(names), 5)
            for wanted, described in names:
                self.assertEqual(wanted, described)

    def test_that_readers_asked_about_are_in_the_table_of_runs(self):
        self.show("process, replayed")
        for name, part in (("recorded", "not a replay"), ("resident", "physical pages"), ("committed", "Writable memory"), ("peak", "live bytes are highest")):
            with self.subTest(name):
                self.driver.execute_script("arguments[0].focus()", self.term(name))
                self.assertIn(part, self.tip())
        self.show("fill")
        ideal = self.driver.find_element(By.CSS_SELECTOR, "#runs .term[data-terms='distance to ideal']")
        self.driver.execute_script("arguments[0].focus()", ideal)
        self.assertIn("without any waste", self.tip())
        self.assertIn("peak.distanceToIdeal", self.tip())

    def test_the_table_says_what_sizes_of_the_recorded_run_are_of(self):
        self.show("process, replayed")
        text = self.driver.find_element(By.CSS_SELECTOR, "#runs .note").text
        [line] = [line for line in self.pages["process, replayed"].text.splitlines() if "resident sizes cover" in line]
        self.assertIn(line.removeprefix("note: "), text)
        self.assertIn("so they differ", text)

    def test_appear_under_the_pointer_and_move_nothing(self):
        for page in (self.pages["process, replayed"].path, self.explained, self.diff):
            for width in (1440, 390):
                browser.show(self.driver, page, width=width, height=844)
                terms = [one for one in self.driver.find_elements(By.CSS_SELECTOR, ".term") if one.is_displayed()][:6]
                self.assertGreater(len(terms), 2)
                for one in terms:
                    self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", one)
                    before = self.run_script(PLACES)
                    ActionChains(self.driver).move_to_element(one).perform()
                    self.assertIsNotNone(self.tip())
                    self.assertEqual(self.run_script(PLACES), before)
                    self.assertEqual(self.run_script("document.documentElement.scrollWidth"), width)
                    box = self.run_script("document.getElementById('tip').getBoundingClientRect().toJSON()")
                    self.assertTrue(0 <= box["left"] and box["right"] <= width and 0 <= box["top"] and box["bottom"] <= 844, box)

    def test_stay_under_a_pointer_that_goes_to_read_them(self):
        self.show("fill")
        ActionChains(self.driver).move_to_element(self.term("resident")).perform()
        ActionChains(self.driver).move_to_element(self.driver.find_element(By.ID, "tip")).pause(0.4).perform()
        self.assertIsNotNone(self.tip())
        ActionChains(self.driver).move_to_element(self.driver.find_element(By.TAG_NAME, "h1")).pause(0.4).perform()
        self.assertIsNone(self.tip())

    def test_go_with_escape_and_with_the_focus(self):
        self.show("fill")
        for leave in (Keys.ESCAPE, Keys.TAB):
            self.driver.execute_script("document.activeElement.blur(); arguments[0].focus()", self.term("resident"))
            before = self.tip()
            self.assertIsNotNone(before)
            self.press_keys(leave)
            self.assertNotEqual(self.tip(), before)

    def test_appear_at_a_tap(self):
        self.show("fill", width=390, height=844)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", self.term("resident"))
        box = self.run_script("arguments[0].getBoundingClientRect().toJSON()", self.term("resident"))
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.assertIn("physical pages", self.tip())

    def test_are_found_in_names_of_metrics(self):
        self.open_any(self.pages["fill"].path)
        found = self.run_script("""arguments[0].map((name) => heaptape.metricTerm(name).dataset.terms ?? '')""",
                                ["atPlateau.residentHoleBytes", "end.account.cachedBytes", "peak.distanceToIdeal", "time.replayNs"])
        self.assertEqual(found, ["plateau,resident,hole", "exit and end,cached", "peak,distance to ideal", ""])

    def test_are_told_from_the_parts_of_other_words(self):
        self.open_any(self.pages["fill"].path)
        found = self.run_script("arguments[0].map((text) => heaptape.termsIn(text))",
                                ["whole_pin() in alive.cc", "Resident holes at the end", "std::live::x", "stop pinning"])
        self.assertEqual(found, [[], ["resident", "hole", "exit and end"], [], []])

    def test_keep_hostile_text_text(self):
        self.open_any(self.pages["fill"].path)
        made = self.run_script("(() => { const box = document.createElement('p'); box.append(...heaptape.terms('<i>live</i> & \"hole\"'));"
                               " return [box.textContent, box.querySelectorAll(':not(button)').length]; })()")
        self.assertEqual(made, ['<i>live</i> & "hole"', 0])


if __name__ == "__main__":
    harness.main("terms_test")
