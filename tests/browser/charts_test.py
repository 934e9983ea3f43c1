"""Charts of the timeline, on pages of `heaptape replay --html`."""

from . import browser, harness
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait


class Charts(ReplayPages):
    wanted = ("fill", "fill, 20,000 samples")

    def status(self):
        return self.driver.find_element(By.CSS_SELECTOR, "#timeline .tools [role=status]").text

    def plot(self, number=0):
        return self.driver.find_elements(By.CSS_SELECTOR, "#timeline .plot")[number]

    def setUp(self):
        self.show("fill")
        self.driver.execute_script("document.getElementById('timeline').scrollIntoView()")

    def test_zoom_together(self):
        self.assertTrue(self.status().startswith("the whole run"), self.status())
        ActionChains(self.driver).move_to_element(self.plot()).click_and_hold().move_by_offset(100, 0).release().perform()
        self.assertIn("shown: #", self.status())
        labels = self.run_script("""[...document.querySelectorAll('#timeline .plot')].map((plot) =>
            [...plot.querySelectorAll('.dygraph-axis-label-x')].map((label) => label.textContent).join())""")
        self.assertEqual(len(set(labels)), 1, labels)
        ActionChains(self.driver).double_click(self.plot(1)).perform()
        self.assertIn("the whole run", self.status())

    def test_share_a_cursor(self):
        ActionChains(self.driver).move_to_element(self.plot(2)).perform()
        self.assertIn("cursor at #", self.status())
        values = [one.text for one in self.driver.find_elements(By.CSS_SELECTOR, "#timeline .values")]
        for value in values:
            self.assertRegex(value, r"\d")

    def test_obey_the_keyboard(self):
        self.plot().send_keys(Keys.ARROW_RIGHT, "+")
        self.assertIn("cursor at #", self.status())
        self.assertIn("shown: ", self.status())
        self.plot().send_keys(Keys.ESCAPE)
        self.assertIn("the whole run", self.status())

    def test_hide_runs(self):
        ActionChains(self.driver).move_to_element(self.plot()).perform()
        self.assertIn("one", self.driver.find_element(By.CSS_SELECTOR, "#timeline .values").text)
        self.driver.find_element(By.CSS_SELECTOR, "#timeline .key").click()
        ActionChains(self.driver).move_to_element(self.plot()).perform()
        self.assertNotIn("one", self.driver.find_element(By.CSS_SELECTOR, "#timeline .values").text)

    def test_have_all_metrics_on_request(self):
        plots = lambda: len(self.driver.find_elements(By.CSS_SELECTOR, "#timeline .plot"))
        before = plots()
        self.driver.find_element(By.CSS_SELECTOR, "#timeline summary").click()
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: plots() > before)  # browsers tell later that it opened

    def test_say_what_a_long_timeline_leaves_out(self):
        self.show("fill, 20,000 samples")
        self.assertIn("20,000 samples", self.driver.find_element(By.ID, "timeline").text)


if __name__ == "__main__":
    harness.main("charts_test")
