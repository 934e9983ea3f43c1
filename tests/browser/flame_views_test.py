"""The views of a flame graph and the table of sites below it; what they show is computed here once more."""

from collections import defaultdict

from . import browser, flame_layout_test, harness
from .flame_graph import FlameGraph
from .flame_layout_test import RandomTree
from .page_numbers import TEXTS
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys


def own(tree, node, values):
    return values[node] - sum(values[one] for one, parent in enumerate(tree.parents) if parent == node)


def inverted(tree, values):
    """Sums by path, the called function first."""
    sums = defaultdict(int)
    for node in range(len(tree.parents)):
        path = [node, *tree.above(node)][:-1] if node else []
        for size in range(len(path) + 1):
            sums[tuple(map(tree.frames.__getitem__, path[:size]))] += own(tree, node, values)
    return sums


def around(tree, frame, values):
    """Sums by path, away from the function: of its callers, and of what it called."""
    up, down = defaultdict(int), defaultdict(int)
    for node in range(1, len(tree.parents)):
        path = [node, *tree.above(node)][:-1]
        frames = [tree.frames[one] for one in path]
        if frame not in frames:
            continue
        outermost = len(frames) - 1 - frames[::-1].index(frame)
        down[tuple(reversed(frames[:outermost]))] += values[node]
        if outermost == 0:
            for size in range(len(path)):
                up[tuple(frames[1:1 + size])] += values[node]
    return up, down


# Of each box: the functions between it and the root, whether it is above, its value, place and row.
BOXES = """const pathOf = (node) => node.parent ? [...pathOf(node.parent), node.frame] : [];
    const drawn = () => [...flame.rows.querySelectorAll('.frame')].map((box) => {
        const node = flame.shown.nodes[box.dataset.node];
        return [pathOf(node), Boolean(node.isUp), Number(box.dataset.value), parseFloat(box.style.left), parseFloat(box.style.width), parseFloat(box.style.top) / 1.25];
    });
    """


class Random(flame_layout_test.Drawn):
    def assert_boxes(self, boxes, wanted, whole, root_row, sign):
        """`wanted`: sums by path. Boxes of less than a thousandth are not drawn."""
        self.assertEqual({tuple(path) for path, *_ in boxes}, {path for path, sum in wanted.items() if sum >= whole / 1000 and sum})
        places = {tuple(path): (left, width) for path, _, _, left, width, _ in boxes}
        for path, _, value, left, width, row in boxes:
            self.assertEqual(value, wanted[tuple(path)])
            self.assertAlmostEqual(width, 100 * value / whole, delta=1e-3)
            self.assertAlmostEqual(row, root_row + sign * len(path))
            if path:
                parent_left, parent_width = places[tuple(path[:-1])]
                self.assertGreaterEqual(left, parent_left - 1e-3)
                self.assertLessEqual(left + width, parent_left + parent_width + 1e-3)

    def test_inverted_has_the_sums_of_who_called_malloc(self):
        for metric in RandomTree.METRICS:
            tree = RandomTree(self.choose)
            boxes = self.of_flame(tree, BOXES + "flame.choose(given[0]); flame.show('inverted'); return drawn();", metric)
            wanted = inverted(tree, tree.values[metric])
            self.assertEqual(wanted[()], tree.values[metric][0])
            self.assert_boxes(boxes, wanted, wanted[()], max(len(path) for path, *_ in boxes), -1)

    def test_callers_have_all_stacks_through_a_function_once(self):
        tree = RandomTree(self.choose)
        values = tree.values["calls"]
        frames = sorted(set(tree.frames) - {0})[:12]
        found = self.of_flame(tree, BOXES + "flame.choose('calls'); return given[0].map((frame) => { flame.pick(frame); return drawn(); });", frames)
        for frame, boxes in zip(frames, found, strict=True):
            up, down = around(tree, frame, values)
            self.assertEqual(up[()], down[()])
            if up[()] == 0:
                self.assertEqual(boxes, [])
                continue
            deepest = max(len(path) for path, is_up, *_ in boxes if is_up or not path)
            self.assert_boxes([box for box in boxes if not box[1]], down, down[()], deepest, 1)
            root = [box for box in boxes if not box[0]]
            self.assert_boxes([box for box in boxes if box[1]] + root, up, up[()], deepest, -1)

    def test_find_has_one_sum_in_all_views(self):
        tree = RandomTree(self.choose)
        sums = self.of_flame(tree, """return ['graph', 'inverted', 'callers'].map((view) => { flame.show(view);
            flame.searchFor('^f[12]'); return flame.matched.textContent.split(', in')[0]; });""")
        self.assertEqual(len(set(sums)), 1, sums)

    def test_two_tapes_have_their_sides_in_each_view(self):
        tree = RandomTree(self.choose, has_base=True)
        found = self.of_flame(tree, BOXES + "flame.show('inverted'); return ['base', 'now', 'base'].map((side) => { flame.chooseSide(side); return drawn(); });")
        for values, boxes in zip((tree.base, tree.values, tree.base), found):
            wanted = inverted(tree, values["peakBytes"])
            self.assert_boxes(boxes, wanted, wanted[()], max(len(path) for path, *_ in boxes), -1)

    def test_arrows_go_where_they_point(self):
        """Callers are above in all views."""
        tree = RandomTree(self.choose)
        found = self.of_flame(tree, """const at = (node) => { const box = flame.rows.querySelector(`[data-node="${node.index}"]`);
            return [parseFloat(box.style.left), parseFloat(box.style.top)]; };
            return ['inverted', 'callers'].map((view) => { flame.show(view); return boxes().flatMap(([index]) => {
                const node = flame.shown.nodes[index];
                return ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].map((key) => [flame.neighbour(node, key), key])
                    .filter(([next]) => next).map(([next, key]) => [key, at(node), at(next)]); }); });""")
        for moves in found:
            self.assertGreater(len(moves), 10)
            for key, (x, y), (to_x, to_y) in moves:
                rows = (to_y - y) / 1.25
                self.assertAlmostEqual(rows, {"ArrowUp": -1, "ArrowDown": 1}.get(key, 0))
                self.assertTrue(key not in ("ArrowLeft", "ArrowRight") or (to_x < x) == (key == "ArrowLeft"))


class Buttons(FlameGraph, ReplayPages):
    wanted = ("stacks", "holes")

    def view(self, name):
        return self.driver.find_element(By.XPATH, f"//section[@id='flame']//button[text()='{name}']")

    def test_toggle_by_mouse_and_keyboard(self):
        self.show("stacks")
        self.view("Inverted").click()
        self.assertEqual(self.view("Inverted").get_attribute("aria-pressed"), "true")
        tops = {name: self.box(name).location["y"] for name in ("all", "lex", "main")}
        self.assertGreater(tops["all"], tops["lex"])
        self.assertGreater(tops["lex"], tops["main"])
        self.view("Flame graph").send_keys(Keys.ENTER)
        self.assertLess(self.box("all").location["y"], self.box("lex").location["y"])

    def test_keep_the_value_and_the_zoom(self):
        self.show("stacks")
        self.choose_metric("calls")
        self.box("lex").click()
        self.view("Inverted").click()
        self.assertEqual(self.box("all").get_attribute("data-value"), "5")
        self.assertAlmostEqual(self.share("all"), 1, places=2)
        self.view("Flame graph").click()
        self.assertAlmostEqual(self.share("lex"), 1, places=2)
        self.assertNotIn("read", self.names())

    def test_callers_are_those_of_the_function_in_the_zoom(self):
        self.show("stacks")
        self.box("lex").click()
        self.view("Callers").click()
        self.assertEqual(self.values(), {"main": 400, "parse(int)": 400, "lex": 400})
        self.assertIn("All stacks through lex, as one", self.driver.find_element(By.ID, "flame-view").text)
        self.box("main").click()
        self.assertEqual(self.values(), {"main": 407, "parse(int)": 400, "lex": 400, "read": 7})
        self.driver.find_element(By.ID, "flame-back").click()
        self.assertEqual(self.values()["all"], 407)

    def test_c_shows_the_callers_of_a_box_and_escape_goes_back(self):
        self.show("stacks")
        self.box("all").click()
        ActionChains(self.driver).send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, "c").perform()
        self.assertEqual(self.values(), {"main": 7, "read": 7})
        ActionChains(self.driver).send_keys(Keys.ARROW_UP, Keys.ENTER).perform()
        self.assertEqual(self.values()["main"], 407)
        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()
        self.assertEqual(self.values()["all"], 407)

    def test_a_page_whose_verdict_is_holes_opens_with_what_pins_them(self):
        self.show("holes")
        report = self.pages["holes"].report
        self.assertEqual(report["verdict"]["findings"][0]["kind"], "holes")
        self.assertEqual(report["verdict"]["moment"], "plateau")
        self.assertEqual(self.values()["all"], report["runs"][0]["atPlateau"]["residentHoleBytes"])
        self.assertTrue(self.driver.find_element(By.ID, "flame-run").is_displayed())
        self.show("stacks")
        self.assertEqual(self.values()["all"], 407)


class Table(FlameGraph, ReplayPages):
    wanted = ("stacks", "holes", "hostile")

    def setUp(self):
        self.show("stacks")

    def column(self, metric):
        return self.run_script("[...document.querySelectorAll('.tops td')].filter((cell) => cell.dataset.metric === arguments[0]).map((cell) => Number(cell.dataset.value))", metric)

    def heading(self, by):
        return self.driver.find_element(By.CSS_SELECTOR, f".tops [data-by={by}]")

    def sorts(self):
        return self.run_script("""Object.fromEntries([...document.querySelectorAll('.tops th[aria-sort]')].map((one) => [one.firstChild.dataset.by, one.ariaSort])
            .filter(([, sort]) => sort !== 'none'))""")

    def test_has_the_figures_of_the_report(self):
        for name in ("stacks", "holes"):
            self.show(name)
            sites = {one["site"]: one["totals"] for one in self.pages[name].report["tape"]["sites"]["list"]}
            cells = self.run_script("""[...document.querySelectorAll('.tops tbody tr')].map((row) => [row.cells[0].firstChild.title,
                Object.fromEntries([...row.cells].filter((cell) => cell.dataset.metric).map((cell) => [cell.dataset.metric, [Number(cell.dataset.value), cell.textContent]]))])""")
            self.assertEqual({site for site, _ in cells}, set(sites))
            for site, values in cells:
                pinned = [metric for metric in values if metric.startswith("pinned")]
                self.assertLessEqual(len(pinned), 1)
                for metric in set(values) - set(pinned):
                    text = TEXTS["bytes" if metric.endswith("Bytes") else "count"]
                    self.assertEqual(values[metric], [sites[site][metric], text(sites[site][metric])], (site, metric))

    def test_is_sorted_by_a_click_and_by_enter(self):
        self.assertEqual(self.sorts(), {"peakBytes": "descending"})
        self.heading("calls").click()
        self.assertEqual(self.sorts(), {"calls": "descending"})
        calls = self.column("calls")
        self.assertEqual(calls, sorted(calls, reverse=True))
        ActionChains(self.driver).send_keys(Keys.ENTER).perform()  # the heading still has the focus
        self.assertEqual(self.sorts(), {"calls": "ascending"})
        self.assertEqual(self.column("calls"), sorted(calls))
        self.heading("site").send_keys(Keys.ENTER)
        names = [row[0] for row in self.rows()]
        self.assertEqual(names, sorted(names))
        self.choose_metric("askedBytes")
        self.assertEqual(self.sorts(), {"askedBytes": "descending"})

    def test_is_filtered(self):
        field = self.driver.find_element(By.ID, "site-filter")
        field.send_keys("LEX.h")
        self.assertEqual([row[0].split("(")[0] for row in self.rows()], ["lex"])
        total = len(self.pages["stacks"].report["tape"]["sites"]["list"])
        self.assertIn(f"1 of {total} sites", self.driver.find_element(By.ID, "site-count").text)
        field.send_keys("[")  # not a pattern
        self.assertEqual(self.rows(), [])

    def test_finds_the_function_of_a_row(self):
        [row] = [one for one in self.driver.find_elements(By.CSS_SELECTOR, ".tops tbody tr") if one.text.startswith("read")]
        row.find_elements(By.TAG_NAME, "td")[1].click()
        self.assertEqual(self.run_script("[...document.querySelectorAll('.frame.found')].map((one) => one.textContent)"), ["read"])
        self.driver.find_element(By.CSS_SELECTOR, "#flame [data-value=callers]").click()
        self.assertEqual(self.values(), {"main": 7, "read": 7})
        [button] = [one for one in self.driver.find_elements(By.CSS_SELECTOR, ".tops tbody button") if one.text == "lex"]
        button.send_keys(Keys.ENTER)
        self.assertEqual(self.values(), {"main": 400, "parse(int)": 400, "lex": 400})

    def test_shortens_names(self):
        names = {
            "std::vector<int, std::allocator<int> >::push_back(int const&)": "std::vector::push_back",
            "(anonymous namespace)::f(int) const": "(anonymous namespace)::f",
            "<T as Trait<U>>::method": "<T as Trait>::method",
            "operator new(unsigned long)": "operator new(unsigned long)",
            "f(int)::{lambda(int)#1}": "f(int)::{lambda(int)#1}",
            "main": "main",
            "a<b": "a<b",
            "a>b": "a>b",
        }
        self.assertEqual({name: self.run_script("heaptape.shortName(arguments[0])", name) for name in names}, names)

    def test_has_whole_names_behind_enter(self):
        name = "std::map<" + "x" * 10_000 + ">::f(int)"
        sites = {"texts": [name + " (a.cc:1)"], "functions": [name], "modules": ["app"], "values": {"calls": [1]}}
        stacks = {"leastShare": 0, "mergedNodes": 0, "names": [name], "moduleOf": [0], "fileOf": [0], "lines": [0], "modules": ["app"], "files": [""],
                  "frames": [0, 1], "depths": [0, 1], "values": {"calls": [1, 1]}}
        self.driver.execute_script("""const main = document.getElementById('main'); main.replaceChildren();
            heaptape.flame({sites: arguments[0], stacks: arguments[1]}, main);""", sites, stacks)
        summary = self.driver.find_element(By.CSS_SELECTOR, ".tops summary")
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, ".tops tbody button").text, "std::map::f")
        summary.send_keys(Keys.ENTER)
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, ".tops .whole div").text, name + " (a.cc:1) app")
        self.assertEqual(self.run_script("document.documentElement.scrollWidth"), 1440)
        self.assertFalse(self.run_script("document.querySelector('.frame.found') !== null"))  # opening it is not a click on its row

    def test_hostile_names_stay_text(self):
        self.show("hostile")
        for view in ("inverted", "callers", "graph"):
            self.driver.find_element(By.CSS_SELECTOR, f"#flame [data-value={view}]").click()
        for what in (".tops th button", ".tops summary", ".tops tbody button"):
            self.driver.find_element(By.CSS_SELECTOR, what).send_keys(Keys.ENTER)
        self.assertIsNone(self.run_script("window.hostile || null"))
        self.assertEqual(self.run_script("document.querySelectorAll('#flame img, #flame script').length"), 0)
        self.assertEqual(self.run_script("document.documentElement.scrollWidth"), 1440)
        self.assert_no_complaint()


if __name__ == "__main__":
    harness.main("flame_views_test")
