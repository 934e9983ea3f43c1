"""What a reader does with a flame graph, of one tape or of two."""

from . import browser

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys


class FlameGraph:
    """To be inherited beside Pages."""

    def box(self, name):
        return self.driver.find_element(By.XPATH, f"//div[contains(@class, 'frame')][starts-with(@aria-label, '{name},')]")

    def names(self):
        return [one.get_attribute("aria-label").split(",")[0] for one in self.driver.find_elements(By.CSS_SELECTOR, ".frame")]

    def share(self, name):
        return self.run_script("arguments[0].offsetWidth / document.querySelector('.flame .rows').offsetWidth", self.box(name))

    def values(self):
        return dict(self.run_script("""[...document.querySelectorAll('.frame')].map((box) =>
            [box.getAttribute('aria-label').split(',')[0], Number(box.dataset.value)])"""))

    def detail(self):
        return self.driver.find_element(By.CSS_SELECTOR, ".detail").text

    def choose(self, select, text):
        """The first of its choices that begins with the text."""
        field = self.driver.find_element(By.ID, select)
        [option, *_] = [one for one in field.find_elements(By.TAG_NAME, "option") if one.text.startswith(text)]
        option.click()

    def choose_metric(self, metric):
        self.driver.execute_script("const select = document.getElementById('flame-value'); select.value = arguments[0];"
                                   "select.dispatchEvent(new Event('change'))", metric)

    def choices(self, select):
        return [one.text for one in self.driver.find_element(By.ID, select).find_elements(By.TAG_NAME, "option")]

    def moments(self):
        return [text for text in self.choices("flame-value") if text.startswith("bytes pinned")]

    def rows(self):
        return self.run_script("[...document.querySelectorAll('.tops tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")


class UsualFlameGraph(FlameGraph):
    """Tests of any graph of the tape "stacks": main has 407 bytes at the peak, lex 400 and read 7 of them."""

    def test_obeys_the_keyboard(self):
        self.box("all").click()
        keys = ActionChains(self.driver)
        keys.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER).perform()
        self.assertAlmostEqual(self.share("read"), 1, places=2)
        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()
        self.assertIn("lex", self.names())

    def test_finds(self):
        field = self.driver.find_element(By.ID, "flame-search")
        field.send_keys("^(parse|lex|read)\\b")
        text = self.driver.find_element(By.CSS_SELECTOR, "#flame .tools [role=status]").text
        self.assertEqual(text, "407 B, 100.0%, in 3 places")
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, ".frame.found")), 3)
        field.send_keys("(")
        self.assertEqual(field.get_attribute("aria-invalid"), "true")

    def test_weighs_as_asked(self):
        choice = self.driver.find_element(By.ID, "flame-value")
        choice.click()
        choice.send_keys("calls", Keys.ENTER)
        self.assertEqual(self.box("all").get_attribute("data-value"), "5")
        self.assertEqual(self.box("read").get_attribute("data-value"), "2")
