"""Choices in the address of a page: a reload and another reader have them."""

from urllib.parse import parse_qs, urlencode, urlparse

from . import browser, harness
from .flame_graph import FlameGraph
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait


class Address(FlameGraph, ReplayPages):
    wanted = ("pinned", "fill")

    def kept(self):
        return {name: values[0] for name, values in parse_qs(urlparse(self.driver.current_url).fragment, keep_blank_values=True).items()}

    def wait_for(self, **choices):
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: choices.items() <= self.kept().items())

    def open(self, name, **choices):
        """As somebody who got a link."""
        self.driver.get("about:blank")
        fragment = urlencode(choices) if choices else ""
        self.driver.get(self.pages[name].path.resolve().as_uri() + ("#" + fragment if fragment else ""))
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.run_script("document.documentElement.dataset.ready === 'yes'"))

    def pressed(self, section):
        return self.run_script("[...document.querySelectorAll(`#${arguments[0]} [aria-pressed=true]`)].map((one) => one.textContent)", section)

    def press(self, section, text):
        self.driver.find_element(By.XPATH, f"//section[@id='{section}']//button[text()='{text}']").click()

    def test_has_nothing_until_something_is_chosen(self):
        self.open("pinned")
        self.driver.find_element(By.ID, "verdict").click()
        self.press("flame", "Inverted")
        self.wait_for(view="inverted")
        self.press("flame", "Flame graph")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: "#" not in self.driver.current_url)

    def test_has_the_flame_graph(self):
        self.open("pinned")
        self.choose("flame-value", self.moments()[-1])
        self.choose("flame-run", "recorded")
        self.box("read").send_keys(Keys.ENTER)
        self.press("flame", "Callers")
        self.driver.find_element(By.ID, "flame-search").send_keys("^read")
        self.driver.find_element(By.ID, "site-filter").send_keys("app.cc")
        self.driver.find_element(By.CSS_SELECTOR, ".tops [data-by=calls]").send_keys(Keys.ENTER)
        self.wait_for(view="callers", find="^read", sites="app.cc", sort="-calls")
        before = self.values(), self.rows(), self.driver.find_element(By.ID, "flame-view").text, self.choices("flame-run")
        self.driver.refresh()
        self.assertEqual((self.values(), self.rows(), self.driver.find_element(By.ID, "flame-view").text, self.choices("flame-run")), before)
        self.assertEqual(before[0], {"main": 25_024, "read": 25_024})
        self.assertEqual(self.driver.find_element(By.ID, "flame-search").get_attribute("value"), "^read")
        self.assertEqual(self.pressed("flame"), ["Callers"])
        self.press("flame", "Flame graph")
        self.driver.find_element(By.ID, "flame-back").click()
        self.assertEqual(self.values()["all"], self.pages["pinned"].report["runs"][1]["end"]["residentHoleBytes"])

    def test_has_the_zoom_of_the_flame_graph(self):
        self.open("pinned")
        self.box("read").click()
        self.wait_for(top=self.box("read").get_attribute("data-node"))
        self.open("pinned", **self.kept())
        self.assertAlmostEqual(self.share("read"), 1, places=2)
        self.assertNotIn("lex", self.names())

    def test_has_the_charts(self):
        self.open("fill")
        plot = self.driver.find_element(By.CSS_SELECTOR, "#timeline .plot")
        plot.send_keys("+", Keys.ARROW_RIGHT, "+")
        self.driver.find_elements(By.CSS_SELECTOR, "#timeline .key")[1].click()
        self.wait_for(hidden="1")
        low, high = map(float, self.kept()["shown"].split(","))
        status = self.driver.find_element(By.CSS_SELECTOR, "#timeline .tools [role=status]").text.split("shown: ")[1]
        self.open("fill", **self.kept())
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, "#timeline .tools [role=status]").text.split("shown: ")[1], status)
        self.assertEqual(status, f"#{round(low):,} to #{round(high):,}")
        self.assertEqual([one.get_attribute("aria-pressed") for one in self.driver.find_elements(By.CSS_SELECTOR, "#timeline .key")], ["true", "false", "true"])

    def test_has_the_moment_of_the_account(self):
        self.open("pinned")
        buttons = self.driver.find_elements(By.CSS_SELECTOR, "#account .tools button")
        [other, *_] = [one for one in buttons if one.get_attribute("aria-pressed") == "false"]
        text = other.text
        other.send_keys(Keys.ENTER)
        self.wait_for(moment=other.get_attribute("data-value"))
        state = lambda: self.run_script("document.querySelector('#account .account').dataset.state")
        before = state()
        self.open("pinned", **self.kept())
        self.assertEqual((self.pressed("account"), state()), ([text], before))

    def test_has_the_place_on_the_map(self):
        self.open("fill")
        ready = lambda _: self.run_script("document.getElementById('map').dataset.ready === 'yes' && !document.querySelector('canvas.map').ariaBusy")
        shows = lambda: (self.driver.find_element(By.CSS_SELECTOR, "#map input").get_attribute("value"), self.driver.find_element(By.CSS_SELECTOR, ".map-detail").text)
        self.driver.execute_script("document.getElementById('map').scrollIntoView()")
        WebDriverWait(self.driver, browser.PATIENCE).until(ready)
        self.press("map", "model:slabs")
        self.press("map", "how old blocks are")
        WebDriverWait(self.driver, browser.PATIENCE).until(ready)
        self.driver.find_element(By.CSS_SELECTOR, "canvas.map").send_keys(Keys.ARROW_LEFT * 5, "+")
        frame = self.run_script("document.querySelector('#map input').value")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.kept().get("place", "").split(",")[0] == frame)
        self.assertEqual({name: self.kept()[name] for name in ("colors", "heap")}, {"colors": "age", "heap": "1"})
        self.assertEqual(len(self.kept()["box"].split(",")), 4)
        before = shows()
        self.open("fill", **self.kept())
        self.driver.execute_script("document.getElementById('map').scrollIntoView()")
        WebDriverWait(self.driver, browser.PATIENCE).until(ready)
        self.assertEqual(shows(), before)
        self.assertEqual(self.pressed("map"), ["model:slabs", "how old blocks are"])
        kept = self.kept()
        self.driver.find_element(By.ID, "verdict").click()
        self.wait_for(**kept)

    def test_ignores_what_it_does_not_know(self):
        self.open("pinned")
        plain = self.values(), self.rows(), self.pressed("account"), self.pressed("flame")
        bad = [{name: text} for name in ("value", "function", "view", "top", "sort", "hidden", "shown", "moment", "heap", "colors", "place", "box", "holes", "axis")
               for text in ("", "-1", "1e99", "__proto__", "constructor", "NaN,NaN", "99999,99999", "<img src=x onerror=hostile=1>", "x" * 500)]
        bad += [{"find": "(a+)+$"}, {"find": "a*a*a*a*a*b"}, {"sites": "x" * 30_000}, {"": ""}, {"nothing": "1"}]
        uri = self.pages["pinned"].path.resolve().as_uri()
        for choices in bad:
            self.driver.execute_script("location.hash = arguments[0]", urlencode(choices))
            self.driver.execute_script("dispatchEvent(new HashChangeEvent('hashchange'))")
            self.assertEqual((self.values(), self.rows(), self.pressed("account"), self.pressed("flame")), plain, choices)
        for text in ("%E0%A4%A", "%", "&&==&", "runs", "view"):
            self.driver.get("about:blank")
            self.driver.get(uri + "#" + text)
            self.assertEqual((self.values(), self.rows(), self.pressed("account"), self.pressed("flame")), plain, text)
            self.assert_no_complaint()
        self.assertIsNone(self.run_script("window.hostile || null"))

    def test_follows_a_link_within_the_page_and_leaves_no_entries(self):
        self.open("pinned")
        entries = self.run_script("history.length")
        for view in ("Inverted", "Callers", "Inverted"):
            self.press("flame", view)
            self.wait_for(view=view.lower())
        self.assertEqual(self.run_script("history.length"), entries)
        self.driver.execute_script("location.hash = 'view=callers'")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.pressed("flame") == ["Callers"])
        self.driver.back()
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.pressed("flame") == ["Inverted"])
        self.driver.back()
        self.assertEqual(self.driver.current_url, "about:blank")


if __name__ == "__main__":
    harness.main("state_test")
