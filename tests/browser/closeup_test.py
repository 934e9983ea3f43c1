"""Close-ups of the heap, on pages of `heaptape replay --html`, in a browser."""

import json
import re

from . import browser, harness
from .heap_map import HeapMap

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

HOLE = re.compile(r"^hole of .*, 0x([0-9a-f]+) to 0x([0-9a-f]+), ([\d.,]+ \w+) of it resident; (?:free since call #([\d,]+)|no call)")
BLOCK = re.compile(r"block of .* at 0x([0-9a-f]+), made by call #([\d,]+)(?:: (.*))?$")


def number(text):
    return int(text.replace(",", ""))


class Closeup(HeapMap):
    def canvas_of_closeup(self):
        return self.driver.find_element(By.CSS_SELECTOR, "canvas.closeup")

    def lines(self):
        return self.run_script("[...document.querySelectorAll('.closeup-parts .map-detail div')].map((line) => line.textContent)")

    def note(self):
        return self.run_script("document.querySelector('.closeup-parts .note').textContent")

    def hole(self):
        """What is said of the selected hole: its range, the call that freed it, and the births of its neighbors."""
        hole = HOLE.match(self.lines()[0])
        self.assertTrue(hole, self.lines())
        beside = [BLOCK.search(line) for line in self.lines()[1:]]
        return (int(hole[1], 16), int(hole[2], 16), number(hole[4] or "0"), *(number(block[2]) if block else 0 for block in beside))

    def click(self, text):
        self.driver.find_element(By.XPATH, f"//div[@class='closeup-parts']//button[.='{text}']").click()

    def colours(self):
        """How many pixels of the close-up have each color that means something."""
        return self.run_script("""((canvas) => { const counts = {}; const hex = (at) => '#' + [0, 1, 2].map((i) => data[at + i].toString(16).padStart(2, '0')).join('');
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) counts[hex(at)] = (counts[hex(at)] || 0) + 1;
            return Object.fromEntries(['part-live', 'part-hole', 'map-absent', 'mark'].map((name) => [name, counts[heaptape.colour(name)] || 0])); })
            (document.querySelector('canvas.closeup'))""")


class Holes(Closeup):
    wanted = ("holes", "redis", "random", "stacks", "sampled", "small")

    def explained(self, name, moment, *options):
        """What `heaptape holes` says of the largest ones."""
        return json.loads(harness.heaptape("holes", self.tape(name), "-a", "model:ptmalloc", "--at", moment, "--json", *options))

    def test_are_those_of_heaptape_holes(self):
        self.show("redis")
        known = {}
        for hole in self.explained("redis", "plateau", "--top", "100000")["largestHoles"]:
            begin = int(hole["address"])
            known[begin] = (begin, begin + int(hole["bytes"]), int(hole["lastFreeAt"]), *(int(hole.get(side, {}).get("birth", 0)) for side in ("before", "after")))
        seen = set()
        for _ in range(30):
            hole = self.hole()
            self.assertEqual(hole, known[hole[0]])
            seen.add(hole[0])
            self.click("Smaller hole")
        self.assertGreater(len(seen), 15)

    def test_begin_with_the_hole_that_the_map_shows(self):
        self.show("redis")
        self.assertIn("at the plateau", self.note())
        shown = [re.search(r"^hole of .*, (0x[0-9a-f]+ to 0x[0-9a-f]+);", line) for line in self.detail()]
        self.assertIn(re.search("0x[0-9a-f]+ to 0x[0-9a-f]+", self.lines()[0])[0], [found[1] for found in shown if found])

    def test_name_the_functions_beside_them(self):
        self.show("holes")
        self.assertEqual(self.lines()[1], "before it: no block that is known")  # the region begins with it
        self.assertEqual(BLOCK.search(self.lines()[2])[3], "read (app.cc:40)")
        self.click("Smaller hole")
        self.assertEqual([BLOCK.search(line)[3] for line in self.lines()[1:]], ["read (app.cc:40)"] * 2)

    def test_go_from_larger_to_smaller_and_back(self):
        self.show("redis")
        first = self.hole()
        self.click("Smaller hole")
        second = self.hole()
        self.assertNotEqual(first, second)
        self.click("Larger hole")
        self.assertEqual(self.hole(), first)
        self.canvas_of_closeup().send_keys(Keys.PAGE_DOWN)
        self.assertEqual(self.hole(), second)
        self.canvas_of_closeup().send_keys(Keys.PAGE_UP * 50)
        largest = self.hole()
        self.canvas_of_closeup().send_keys(Keys.PAGE_UP)
        self.assertEqual(self.hole(), largest)
        self.canvas_of_closeup().send_keys(Keys.PAGE_DOWN * 2)
        third = self.hole()
        self.canvas_of_closeup().send_keys(Keys.PAGE_UP + Keys.ARROW_RIGHT + Keys.PAGE_DOWN)  # from the block beside the second one
        self.assertEqual(self.hole(), third)

    def test_move_the_map_to_what_is_picked(self):
        self.show("redis")
        before = self.detail()
        for _ in range(20):
            self.click("Smaller hole")
        self.assertNotEqual(self.detail()[1], before[1])
        cell = int(re.match("0x([0-9a-f]+), ", self.detail()[1])[1], 16)
        self.assertLessEqual(cell, self.hole()[0])

    def test_follow_the_place_and_the_moment_that_are_chosen(self):
        self.show("random")
        for moment in self.pages["random"].report["moments"]:
            self.driver.find_element(By.XPATH, f"//section[@id='map']//button[.='at the {moment['name']}']").click()
            self.assertIn(f"at the {moment['name']}", self.note())
            self.assertIn(f"(#{int(moment['at']):,})", self.note())
        before = self.hole()
        self.point(0.99, 0.9)
        self.assertEqual(self.hole(), before)  # hovering changes nothing here
        ActionChains(self.driver).click().perform()
        self.assertNotEqual(self.hole(), before)

    def test_are_not_shown_of_a_heap_without_holes(self):
        self.show("small")
        self.assertFalse(self.canvas_of_closeup().is_displayed())


class Rows(Closeup):
    wanted = ("redis", "holes")

    def test_show_the_hole_between_its_neighbors(self):
        self.show("redis")
        colours = self.colours()
        self.assertGreater(colours["part-hole"], 1000)
        self.assertGreater(colours["part-live"], 100)
        self.assertGreater(colours["mark"], 100)

    def test_walk_over_blocks_and_holes_by_address(self):
        self.show("redis")
        begin, end, _, before, after = self.hole()
        self.canvas_of_closeup().send_keys(Keys.ARROW_RIGHT)
        block = BLOCK.match(self.lines()[0])
        self.assertEqual((int(block[1], 16) // 16 * 16, number(block[2])), (end, after))
        self.canvas_of_closeup().send_keys(Keys.ARROW_LEFT * 2)
        block = BLOCK.match(self.lines()[0])
        self.assertEqual(number(block[2]), before)
        self.assertLess(int(block[1], 16), begin)
        self.canvas_of_closeup().send_keys(Keys.ARROW_LEFT * 2000)  # the first of all stays
        self.assertTrue(self.lines())

    # The address at the left of the row and the place in it give the address below the pointer.
    def test_tell_what_is_below_the_pointer(self):
        self.show("redis")
        found = set()
        selected = self.lines()
        size = self.canvas_of_closeup().size
        for x in range(110, size["width"], 97):
            for y in range(4, size["height"], 29):
                ActionChains(self.driver).move_to_element_with_offset(self.canvas_of_closeup(), x - size["width"] // 2, y - size["height"] // 2).perform()
                found.add(self.lines()[0])
        self.assertGreater(len(found), 3)
        self.assertTrue(any(line.startswith("block of") for line in found), found)
        ActionChains(self.driver).move_to_element(self.driver.find_element(By.TAG_NAME, "h1")).perform()
        self.assertEqual(self.lines(), selected)

    def test_select_what_is_clicked(self):
        self.show("redis")
        size = self.canvas_of_closeup().size
        for y in (60, size["height"] - 60):
            at = ActionChains(self.driver).move_to_element_with_offset(self.canvas_of_closeup(), 200 - size["width"] // 2, y - size["height"] // 2)
            at.perform()
            below = self.lines()
            at.click().perform()
            ActionChains(self.driver).move_to_element(self.driver.find_element(By.TAG_NAME, "h1")).perform()
            self.assertEqual(self.lines(), below)

    def test_are_one_within_a_hole_but_for_its_first_and_last(self):
        browser.show(self.driver, self.pages["redis"].path)
        rows = self.run_script("""heaptape.readCloseups([{at: 1, parts: [{begin: '100000', end: '110000', origin: '100000',
            blocks: {step: [0, 0xe000, 0x2000], usable: [0x64, 0x32, 0x10], asked: [1, 1, 1], birth: [1, 2, 3], site: [0, 0, 0]},
            holes: {step: [0x64, 0xdfce], bytes: [0xdf9c, 0x1fce], resident: [5, 7], freed: [1, 0], before: [1, 2], after: [2, 3]}}]}])
            [0].parts[0].rows.map(({from, to}) => [from, to])""")
        self.assertEqual(rows, [[0, 0x800], [0x800, 0x1000], [0x1000, 0xd800], [0xd800, 0xe000],
                                [0xe000, 0xe800], [0xe800, 0xf000], [0xf000, 0xf800], [0xf800, 0x10000]])


class Address(Closeup):
    wanted = ("redis",)

    def test_keeps_what_was_picked(self):
        self.show("redis")
        for _ in range(3):
            self.click("Smaller hole")
        self.canvas_of_closeup().send_keys(Keys.ARROW_RIGHT)
        picked = self.lines()
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: "item=" in self.driver.current_url)
        self.driver.refresh()
        self.ready()
        self.assertEqual(self.lines(), picked)

    def test_ignores_what_is_not_there(self):
        for text in ("zz", "7", "ffffffffffffffff", "f" * 30):
            browser.show(self.driver, self.pages["redis"].path)
            self.run_script(f"location.hash = 'item={text}'")
            self.ready()
            self.assertTrue(self.hole())


if __name__ == "__main__":
    harness.main("closeup_test")
