"""One moment for the whole page, picked on a chart: what each part then shows, against the figures of the report."""

from . import browser, harness
from .flame_graph import FlameGraph
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait


class Moment(FlameGraph, ReplayPages):
    wanted = ("holes", "pinned", "stacks")

    def plot(self):
        return self.driver.find_element(By.CSS_SELECTOR, "#timeline .plot")

    def status(self):
        return self.driver.find_element(By.ID, "moment").text

    def account(self):
        return self.run_script("""((account) => [account.dataset.state, Object.fromEntries([...account.querySelectorAll('.part')].map((part) =>
            [part.dataset.metric, Number(part.dataset.value)]))])(document.querySelector('#account .account'))""")

    def holes(self):
        return self.run_script("[...document.querySelectorAll('#holes .panel .note span[data-path]')].map((one) => [one.dataset.path, Number(one.dataset.value)])")

    def frame_call(self):
        return self.run_script("document.querySelector('#map input').ariaValueText")

    def assert_shows(self, name, state):
        run = self.pages[name].report["runs"][0][state]
        shown, parts = self.account()
        self.assertEqual(shown, state)
        self.assertEqual(parts["liveBytes"], run["liveBytes"])
        self.assertEqual(parts.get("account.holeBytes", 0), run["account"]["holeBytes"])
        if "residentHoleBytes" in run and self.run_script("!document.getElementById('flame-run').parentElement.hidden"):
            keeps = "The flame graph keeps its moment: nothing is known to be pinned in model:ptmalloc at this one." in self.status()
            self.assertEqual(keeps, run["residentHoleBytes"] == 0)
            if not keeps:
                self.assertEqual(self.values()["all"], run["residentHoleBytes"])
        if self.holes():
            self.assertEqual(dict(self.holes())[f"runs.0.{state}.holes.bytes"], run["holes"]["bytes"])

    def test_page_keys_go_from_one_to_the_next(self):
        self.show("pinned")
        self.choose("flame-value", self.moments()[0])
        self.plot().send_keys(Keys.PAGE_DOWN)
        self.assertEqual(self.status(), "Shown: at the peak, at the exit (#6).")
        self.assert_shows("pinned", "atPeak")
        self.plot().send_keys(Keys.PAGE_DOWN)
        self.assertEqual(self.status(), "Shown: at the end (#7).")
        self.assert_shows("pinned", "end")
        self.plot().send_keys(Keys.PAGE_DOWN)  # the last one stays
        self.assertEqual(self.status(), "Shown: at the end (#7).")
        self.plot().send_keys(Keys.PAGE_UP)
        self.assert_shows("pinned", "atPeak")

    def test_enter_takes_the_nearest_to_the_cursor(self):
        self.show("holes")
        moments = {one["name"]: one["at"] for one in self.run_script("JSON.parse(document.getElementById('data').textContent).moments")}
        for name, state, x in (("plateau", "atPlateau", 690), ("peak", "atPeak", 30)):
            self.place_cursor(x)
            self.plot().send_keys(Keys.ENTER)
            self.assertIn(f"(#{moments[name]:,})", self.status())
            self.assertIn("of the moments in this report", self.status())
            self.assert_shows("holes", state)

    def place_cursor(self, x):
        """With the mouse, at about that call."""
        box = self.plot()
        left, width = self.run_script("(([canvas]) => [canvas.offsetLeft, canvas.offsetWidth])(document.querySelectorAll('#timeline .plot canvas'))")
        ActionChains(self.driver).move_to_element_with_offset(box, round(70 + (width - 80) * x / 700 - box.rect["width"] / 2), 0).perform()

    def test_a_click_takes_the_nearest_and_moves_the_heap(self):
        self.show("holes")
        self.driver.execute_script("document.getElementById('map').scrollIntoView()")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.run_script("document.getElementById('map').dataset.ready === 'yes'"))
        self.driver.execute_script("document.getElementById('timeline').scrollIntoView()")
        self.place_cursor(100)
        ActionChains(self.driver).click().perform()
        self.assertIn("Shown: at the peak (#200), the nearest to #", self.status())
        self.assert_shows("holes", "atPeak")
        call = int(self.frame_call().removeprefix("call ").replace(",", ""))
        at = self.run_script("JSON.parse(document.getElementById('data').textContent).films.runs[0].at")
        self.assertEqual(call, max([one for one in at if one <= 200], default=at[0]) if call <= 200 else min(one for one in at if one >= 200))

    def test_says_that_a_value_without_moments_stays(self):
        self.show("stacks")
        self.plot().send_keys(Keys.PAGE_UP)
        self.assertIn("The flame graph keeps its value, bytes at the peak: only bytes pinned follow the moment.", self.status())
        self.assertEqual(self.values()["all"], 407)


if __name__ == "__main__":
    harness.main("moment_test")
