"""The heap over time, on a page of `heaptape replay --html`: what is shown, and how to point at it."""

import re

from . import browser
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait


class HeapMap(ReplayPages):
    def ready(self):
        self.run_script("document.getElementById('map').scrollIntoView()")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.run_script("document.getElementById('map').dataset.ready || null"))

    def show(self, name, **looks):
        super().show(name, **looks)
        self.ready()

    def films(self, name):
        """Each film of a page: its frames' calls, cells' bytes and planes, as the page reads them."""
        browser.show(self.driver, self.pages[name].path)
        return self.driver.execute_async_script("""const done = arguments[0];
            const {films} = JSON.parse(document.getElementById('data').textContent);
            Promise.all(films.runs.filter(Boolean).map(heaptape.readFilm)).then((all) => done(all.map((film) => ({
              label: film.label, at: film.at, cellBytes: film.cellBytes, rows: film.rows, offered: film.offered,
              sums: film.at.map((call, frame) => film.sums(frame)),
              items: film.items.map((item) => ({begin: String(item.begin), bytes: Number(item.bytes), birth: item.birth,
                                                asked: item.asked, first: item.first, last: item.last}))}))))""")

    def detail(self):
        return self.run_script("[...document.querySelectorAll('.map-detail div')].map((line) => line.textContent)")

    def shown_call(self):
        return int(re.search(r"after call #([\d,]+)", self.detail()[0])[1].replace(",", ""))

    def canvas(self):
        return self.driver.find_element(By.CSS_SELECTOR, "canvas.map")

    def press(self, *keys):
        self.canvas().send_keys(*keys)

    def point(self, x, y):
        """Moves the pointer to a place of the map, in shares of the canvas."""
        size = self.canvas().size
        ActionChains(self.driver).move_to_element_with_offset(
            self.canvas(), int((x - 0.5) * size["width"]), int((y - 0.5) * size["height"])).perform()

    def colour_at(self, x, y):
        return self.run_script("""((x, y) => { const map = document.querySelector('canvas.map');
            return [...map.getContext('2d').getImageData(x * map.width, y * map.height, 1, 1).data]; })(...arguments)""", x, y)
