"""Pages at the keyboard: Tab reaches each control, its focus shows, and arrows reach what a pointer does."""

from . import browser, harness
from .harness import heaptape
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

# What listens to a pointer, as far as it is in sight. In a flame graph, one box is reached by Tab, others by arrows.
CONTROLS = """[...document.querySelectorAll('button, select, input, summary, canvas.map, .plot, .scroll[tabindex], .bar, .command, [tabindex="0"]')]
    .filter((one) => one.checkVisibility() && one.offsetWidth !== 0 && !one.matches('.frame[tabindex="-1"]'))"""
MARK = f"{CONTROLS}.forEach((one, i) => one.dataset.control = i)"
WHERE = """(() => { const one = document.activeElement; const style = getComputedStyle(one);
    return one === document.body ? null : {control: one.dataset.control ?? null, tag: one.tagName + '.' + one.className,
        isMarked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2}; })()"""


class Keyboard(ReplayPages):
    wanted = ("stacks", "process, replayed", "fill")

    @classmethod
    def make(cls):
        super().make()
        cls.explained, cls.diff = cls.folder / "explain.html", cls.folder / "diff.html"
        heaptape("explain", cls.folder / "stacks.tape", "-a", "model:ptmalloc", "--at", "peak", "--html", cls.explained)
        heaptape("diff", cls.folder / "stacks.json", cls.folder / "process, replayed.json", "--run", "model:ptmalloc", "--html", cls.diff)

    def wait_for_map(self):
        """It makes some of its buttons when it comes into view."""
        self.driver.execute_script("document.getElementById('map')?.scrollIntoView()")
        browser.WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.run_script(
            "!document.getElementById('map') || document.getElementById('map').dataset.ready === 'yes'"))

    def walk(self):
        """The controls in the order of Tab, until it leaves the page."""
        self.driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
        found = []
        for _ in range(600):
            self.press_keys(Keys.TAB)
            at = self.run_script(WHERE)
            if at is None or found and at == found[0]:
                return found
            found.append(at)
        self.fail("Tab does not leave the page")

    def test_reaches_each_control_and_shows_it(self):
        for page in (self.pages["stacks"].path, self.explained, self.diff):
            browser.show(self.driver, page)
            self.wait_for_map()
            self.driver.execute_script(MARK)
            texts = self.run_script(CONTROLS + ".map((one) => one.tagName + '.' + one.className + ' ' + (one.textContent || one.ariaLabel || one.id).slice(0, 40))")
            found = self.walk()
            self.assertEqual([one["tag"] for one in found if not one["isMarked"]], [], page)
            reached = {int(one["control"]) for one in found if one["control"] is not None}
            self.assertEqual([text for i, text in enumerate(texts) if i not in reached], [], page)

    def test_goes_through_a_table_with_all_digits(self):
        self.show("process, replayed")
        box = self.driver.find_element(By.CSS_SELECTOR, "#runs .scroll")
        self.driver.execute_script("arguments[0].focus()", box)
        self.press_keys(Keys.ARROW_DOWN)
        self.assertEqual(self.run_script("document.activeElement.textContent"), "recorded")
        self.assertIn("not a replay", self.tip())
        self.press_keys(Keys.ARROW_RIGHT)
        cell = self.run_script("[document.activeElement.tagName, document.activeElement.title]")
        self.assertEqual(cell[0], "TD")
        self.assertTrue(cell[1].endswith(" B"), cell)
        self.assertEqual(self.tip(), cell[1])
        self.press_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
        self.assertEqual(self.run_script("[document.activeElement.cellIndex, document.activeElement.parentElement.rowIndex]"), [2, 3])
        self.press_keys(Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertIn("resident", self.run_script("document.activeElement.dataset.terms"))

    def test_has_the_parts_of_a_bar(self):
        self.show("fill")
        bar = self.driver.find_element(By.CSS_SELECTOR, "#account .bar")
        self.driver.execute_script("arguments[0].focus()", bar)
        self.press_keys(Keys.SHIFT)
        self.assertIn("live", self.run_script("arguments[0].ariaLabel", bar))
        self.assertEqual(self.tip(), bar.get_attribute("aria-label"))

    def test_moves_the_cursor_of_charts_and_zooms(self):
        self.show("fill")
        status = self.driver.find_element(By.CSS_SELECTOR, "#timeline [role=status]")
        self.driver.execute_script("arguments[0].focus()", self.driver.find_element(By.CSS_SELECTOR, "#timeline .plot"))
        self.assertIn("the whole run", status.text)
        self.press_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertIn("cursor at #", status.text)
        self.press_keys("+")
        self.assertIn("shown: ", status.text)
        self.press_keys(Keys.ESCAPE)
        self.assertIn("the whole run", status.text)

    def test_goes_through_the_map_and_the_flame_graph(self):
        self.show("stacks")
        flame = self.driver.find_element(By.CSS_SELECTOR, ".frame[tabindex='0']")
        self.driver.execute_script("arguments[0].focus()", flame)
        detail = self.driver.find_element(By.CSS_SELECTOR, "#flame .detail")
        before = detail.text
        self.press_keys(Keys.ARROW_DOWN)
        self.assertNotEqual(detail.text, before)
        canvas = self.driver.find_element(By.CSS_SELECTOR, "canvas.map")
        self.driver.execute_script("arguments[0].scrollIntoView(); arguments[0].focus()", canvas)
        self.wait_for_map()
        detail = self.driver.find_element(By.CSS_SELECTOR, "#map .map-detail")
        before = detail.text
        self.press_keys(Keys.ARROW_LEFT, Keys.ARROW_UP)
        self.assertNotEqual(detail.text, before)
        self.press_keys(Keys.ENTER)
        self.assertIn("kept", detail.text)


if __name__ == "__main__":
    harness.main("keyboard_test")
