"""The heap over time, on pages of `heaptape replay --html`, in a browser."""

import re

from . import browser, harness
from .heap_map import HeapMap

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait


class Films(HeapMap):
    wanted = ("random", "random, 2,000 samples", "random, noop")

    def test_have_what_the_report_has_at_each_frame(self):
        report = self.pages["random"].report
        for film, one in zip(self.films("random"), report["runs"]):
            self.assertEqual(film["label"], one["label"])
            timeline = one["timeline"]
            free = [sum(one) for one in zip(timeline["holes"]["bytes"], timeline["holes"]["topBytes"])]
            known = dict(zip(timeline["at"], zip(timeline["liveBytes"], free, timeline["committedBytes"])))
            compared = 0
            for call, sums in zip(film["at"], film["sums"]):
                if call not in known:
                    continue
                compared += 1
                live, free, committed = known[call]
                self.assertEqual(sums["live"], live)
                self.assertEqual(sums["freeResident"] + sums["freeAbsent"], free)
                self.assertGreaterEqual(sums["blocks"], live)
                self.assertLessEqual(sums["blocks"] + free, committed)
            self.assertGreater(compared, 100)

    def test_have_a_frame_at_each_moment(self):
        report = self.pages["random"].report
        for film in self.films("random"):
            for moment in report["moments"]:
                self.assertIn(moment["at"], film["at"], moment)

    def test_name_blocks_and_holes_that_are_there(self):
        for film in self.films("random"):
            items = film["items"]
            self.assertTrue(any(item["birth"] == 0 for item in items))
            for item in items:
                self.assertGreaterEqual(item["bytes"], item["asked"])
                self.assertLessEqual(item["first"], item["last"])
                self.assertLessEqual(item["birth"], film["at"][item["first"]])

    def test_merge_what_does_not_fit(self):
        self.assertLess(self.pages["random, 2,000 samples"].path.stat().st_size, 1_000_000)
        film = self.films("random, 2,000 samples")[0]
        self.assertGreaterEqual(film["offered"], 2000)
        self.assertLess(len(film["at"]), film["offered"])
        self.show("random, 2,000 samples")
        self.assertIn(f"one of {len(film['at']):,} frames, of {film['offered']:,} samples",
                      self.run_script("document.querySelector('#map > .map-detail + .note').textContent"))

    def test_are_not_there_of_what_has_no_memory(self):
        browser.show(self.driver, self.pages["random, noop"].path)
        self.assertIsNone(self.run_script("document.getElementById('map')"))


class Pointer(HeapMap):
    wanted = ("random", "redis")

    def test_tells_what_is_below_it(self):
        self.show("random")
        before = self.detail()
        self.point(0.5, 0.9)
        self.assertNotEqual(self.detail(), before)
        self.assertRegex(self.detail()[0], r"^one after call #[\d,]+: .* live in .* of blocks, .* free and resident, .* free and given back$")
        self.assertRegex(self.detail()[1], r"^0x[0-9a-f]+, [\d.]+ KiB: (about|over|under) \d+% ")

    def test_begins_at_the_largest_hole_of_the_plateau(self):
        self.show("redis")
        report = self.pages["redis"].report
        plateau = next(one["at"] for one in report["moments"] if one["name"] == "plateau")
        self.assertEqual(self.shown_call(), plateau)
        self.assertTrue(any(line.startswith("hole of ") for line in self.detail()), self.detail())

    def test_begins_at_the_largest_of_the_holes(self):
        [film] = self.films("redis")
        self.show("redis")
        frame = film["at"].index(self.shown_call())
        largest = max(item["bytes"] for item in film["items"] if item["birth"] == 0 and item["first"] <= frame <= item["last"])
        ranges = [re.search(r"^hole of .*, 0x([0-9a-f]+) to 0x([0-9a-f]+);", line) for line in self.detail()]
        self.assertIn(largest, [int(found[2], 16) - int(found[1], 16) for found in ranges if found])

    def test_keeps_what_is_clicked_until_the_next_click(self):
        self.show("random")
        self.point(0.5, 0.5)
        ActionChains(self.driver).click().perform()
        kept = self.detail()
        self.assertIn("(kept", kept[0])
        self.point(0.8, 0.2)
        self.assertEqual(self.detail(), kept)
        ActionChains(self.driver).click().perform()
        self.assertNotIn("(kept", self.detail()[0])
        self.point(0.3, 0.6)
        self.assertNotEqual(self.detail(), kept)

    def test_drags_a_box_to_zoom_and_clicks_twice_for_the_whole(self):
        self.show("random")
        whole = self.colour_at(0.99, 0.05)
        self.point(0.2, 0.9)
        ActionChains(self.driver).click_and_hold().perform()
        self.point(0.3, 0.95)
        ActionChains(self.driver).release().perform()
        first, last = [], []
        for x, calls in ((0.12, first), (0.99, last)):
            self.point(x, 0.5)
            calls.append(self.shown_call())
        report = self.pages["random"].report
        self.assertGreater(first[0], 0)
        self.assertLess(last[0], report["tape"]["events"] / 2)
        browser.double_click(self.driver, self.canvas())
        self.point(0.99, 0.5)
        self.assertGreater(self.shown_call(), report["tape"]["events"] / 2)
        self.assertEqual(self.colour_at(0.99, 0.05), whole)

    def test_keeps_what_is_clicked_from_the_cursor_of_the_charts(self):
        self.show("random")
        self.point(0.5, 0.5)
        ActionChains(self.driver).click().perform()
        kept = self.detail()
        self.driver.find_element(By.CSS_SELECTOR, "#timeline .plot").send_keys(Keys.ARROW_RIGHT * 20)
        self.assertEqual(self.detail(), kept)

    def test_zooms_in_and_out_again(self):
        self.show("random")
        spans = []
        for text in ("", "Zoom in", "Zoom in", "Zoom out", "Zoom out"):
            if text:
                self.driver.find_element(By.XPATH, f"//section[@id='map']//button[.='{text}']").click()
            ends = []
            for x in (0.12, 0.99):
                self.point(x, 0.5)
                ends.append(self.shown_call())
            spans.append(ends[1] - ends[0])
        self.assertGreater(spans[0], spans[1])
        self.assertGreater(spans[1], spans[2])
        self.assertLess(spans[2], spans[3])
        self.assertLess(spans[3], spans[4])

    def test_moves_the_cursor_of_the_charts_and_the_other_way(self):
        self.show("random")
        self.point(0.5, 0.5)
        self.assertIn(f"cursor at #{self.shown_call():,}", self.run_script("document.querySelector('#timeline [role=status]').textContent"))
        plot = self.driver.find_element(By.CSS_SELECTOR, "#timeline .plot")
        before = self.shown_call()
        plot.send_keys(Keys.ARROW_RIGHT * 20)
        self.assertNotEqual(self.shown_call(), before)


class Keyboard(HeapMap):
    wanted = ("random",)

    def test_moves_through_frames_and_cells(self):
        self.show("random")
        call, cell = self.shown_call(), self.detail()[1]
        self.press(Keys.ARROW_LEFT)
        self.assertLess(self.shown_call(), call)
        self.press(Keys.ARROW_RIGHT)
        self.assertEqual((self.shown_call(), self.detail()[1]), (call, cell))
        self.press(Keys.ARROW_UP)
        self.assertNotEqual(self.detail()[1], cell)
        self.press(Keys.ARROW_DOWN)
        self.assertEqual(self.detail()[1], cell)

    def test_goes_up_to_higher_addresses(self):
        self.show("random")
        self.point(0.5, 0.5)
        addresses = []
        for key in ("", Keys.ARROW_UP, Keys.ARROW_DOWN, Keys.ARROW_DOWN):
            self.press(key)
            addresses.append(int(re.match(r"0x([0-9a-f]+)", self.detail()[1])[1], 16))
        self.assertGreater(addresses[1], addresses[0])
        self.assertEqual(addresses[2], addresses[0])
        self.assertLess(addresses[3], addresses[0])

    def test_goes_ten_steps_with_shift(self):
        self.show("random")
        self.point(0.5, 0.5)
        self.press(Keys.ARROW_LEFT * 10)
        call = self.shown_call()
        self.press(Keys.ARROW_RIGHT * 10)
        self.press(Keys.SHIFT + Keys.ARROW_LEFT)
        self.assertEqual(self.shown_call(), call)

    def test_zooms_and_keeps(self):
        self.show("random")
        picture = lambda: self.run_script("document.querySelector('canvas.map').toDataURL()")
        whole = picture()
        self.press("+")
        self.assertNotEqual(picture(), whole)
        self.press(Keys.ENTER)
        self.assertIn("(kept", self.detail()[0])
        self.press(Keys.ESCAPE)
        self.assertEqual(picture(), whole)
        self.assertNotIn("(kept", self.detail()[0])

    def test_scrubs_with_the_slider(self):
        self.show("random")
        slider = self.driver.find_element(By.CSS_SELECTOR, "#map input[type=range]")
        slider.send_keys(Keys.HOME)
        first = self.shown_call()
        slider.send_keys(Keys.END)
        self.assertLess(first, self.shown_call())
        self.assertEqual(slider.get_attribute("aria-valuetext"), f"call {self.shown_call():,}")

    def test_jumps_to_moments(self):
        self.show("random")
        report = self.pages["random"].report
        for moment in report["moments"]:
            self.driver.find_element(By.XPATH, f"//section[@id='map']//button[.='at the {moment['name']}']").click()
            self.assertEqual(self.shown_call(), moment["at"])


class Looks(HeapMap):
    wanted = ("random", "random, 2,000 samples", "redis", "stacks", "sampled", "hostile", "process", "process, replayed")

    def test_do_not_move_the_page_when_the_map_is_drawn(self):
        heights = []
        browser.show(self.driver, self.pages["random"].path)
        heights.append(self.run_script("document.getElementById('map').offsetHeight"))
        self.ready()
        heights.append(self.run_script("document.getElementById('map').offsetHeight"))
        self.assertEqual(heights[0], heights[1])

    def choose(self, group, text):
        self.driver.find_element(By.XPATH, f"//section[@id='map']//div[@aria-label='{group}']/button[.='{text}']").click()
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.run_script("!document.querySelector('#map [aria-busy]')"))

    def legend(self):
        return self.run_script("[...document.querySelectorAll('#map .legend li')].map((item) => item.textContent)")

    def test_have_a_picture_for_each_question(self):
        self.show("random")
        pictures = set()
        for text in ("what it is", "how old blocks are", "how large blocks are"):
            self.choose("Colors", text)
            pictures.add(self.run_script("document.querySelector('canvas.map').toDataURL()"))
        self.assertEqual(len(pictures), 3)

    def test_have_the_last_picture_that_was_asked_for(self):
        self.show("random")
        self.choose("Colors", "how old blocks are")
        old = self.run_script("document.querySelector('canvas.map').toDataURL()")
        self.run_script("""['what it is', 'how large blocks are', 'how old blocks are'].forEach((text) =>
            [...document.querySelectorAll('#map button')].find((button) => button.textContent === text).click())""")
        self.choose("Colors", "how old blocks are")
        self.assertEqual(self.run_script("document.querySelector('canvas.map').toDataURL()"), old)

    def test_have_a_picture_for_each_run(self):
        self.show("random")
        self.choose("Run", "model:slabs")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.detail()[0].startswith("model:slabs"))

    def test_let_go_what_was_kept_where_another_run_is_chosen(self):
        self.show("random")
        self.press(Keys.ENTER)
        self.assertIn("(kept", self.detail()[0])
        self.choose("Run", "model:slabs")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.detail()[0].startswith("model:slabs"))
        self.assertNotIn("(kept", self.detail()[0])

    def test_have_addresses_that_go_up(self):
        self.show("random")
        self.driver.execute_script("""window.texts = []; const {prototype} = CanvasRenderingContext2D; const {fillText} = prototype;
            prototype.fillText = function (text, x, y) { texts.push([text, y]); fillText.call(this, text, x, y); }""")
        self.press("+")
        addresses = [int(text, 16) for text, y in sorted(self.run_script("texts"), key=lambda one: -one[1]) if text.startswith("0x")]
        self.assertGreater(len(addresses), 2)
        self.assertEqual(addresses, sorted(addresses))

    def test_have_calls_on_their_axis_however_narrow(self):
        for name, width in (("redis", 390), ("random", 390), ("redis", 1440)):
            self.show(name, width=width, height=844)
            self.driver.execute_script("""window.texts = []; const {prototype} = CanvasRenderingContext2D; const {fillText} = prototype;
                prototype.fillText = function (text, x, y) { texts.push(text); fillText.call(this, text, x, y); }""")
            self.press(Keys.ESCAPE)
            calls = [text for text in self.run_script("texts") if text.startswith("#")]
            self.assertGreaterEqual(len(calls), 2, (name, width))

    def test_begin_with_a_run_whose_resident_pages_are_known(self):
        self.show("process, replayed")
        self.assertTrue(self.detail()[0].startswith("model:ptmalloc"), self.detail())
        self.assertEqual(self.legend(), ["live", "free, resident", "free, given back"])
        chosen = self.run_script("document.querySelector('#map [aria-label=Run] [aria-pressed=true]').textContent")
        self.assertEqual(chosen, "model:ptmalloc")

    def test_name_sites_where_the_tape_has_them(self):
        self.show("stacks")
        self.choose("Colors", "call site")
        self.assertIn("lex (lex.h:3)", self.legend())
        self.press(Keys.HOME)
        for name in ("random", "sampled"):
            self.show(name)
            self.assertEqual(self.driver.find_elements(By.XPATH, "//section[@id='map']//button[.='call site']"), [])

    def test_say_where_residency_is_not_known(self):
        self.show("process")
        self.assertEqual(self.legend(), ["live", "free"])
        self.assertIn("it is unknown which free pages were resident", self.run_script("document.querySelector('#map').textContent"))

    def test_follow_the_theme_and_the_width(self):
        corners = []
        for looks in ({}, {"scheme": "dark"}, {"width": 390, "height": 844}):
            self.show("random", **looks)
            corners.append(self.colour_at(0.5, 0.9))
            self.assertEqual(self.run_script("document.documentElement.scrollWidth"), looks.get("width", 1440))
        self.assertNotEqual(corners[0], corners[1])

    def test_follow_a_theme_that_changes_while_the_page_is_open(self):
        picture = lambda: self.run_script("document.querySelector('canvas.map').toDataURL()")
        self.show("random", scheme="dark")
        dark = picture()
        self.show("random")
        self.assertNotEqual(picture(), dark)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: picture() == dark)

    def test_do_nothing_that_names_want(self):
        self.show("hostile")
        self.choose("Colors", "call site")
        self.point(0.5, 0.9)
        self.press(Keys.ARROW_LEFT, Keys.ENTER)
        self.assertIn("<b>&amp;", self.detail()[0])
        self.assertIsNone(self.run_script("window.hostile || null"))
        self.assert_no_complaint()

    def test_have_no_complaint(self):
        for name in self.pages:
            with self.subTest(name):
                self.show(name)
                self.point(0.5, 0.5)
                self.assert_no_complaint()


if __name__ == "__main__":
    harness.main("heap_map_test")
