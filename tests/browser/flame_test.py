"""Flame graphs and who asked, on pages of `heaptape replay --html`. Those of two tapes: diff_test.py."""

from . import browser, harness
from .flame_graph import FlameGraph, UsualFlameGraph
from .harness import at_path
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By


class Flame(UsualFlameGraph, ReplayPages):
    """Of a tape whose every stack is known."""

    wanted = ("stacks", "fill")

    def setUp(self):
        self.show("stacks")

    def test_has_the_sums_of_the_report(self):
        total = self.pages["stacks"].report["tape"]["sites"]["total"]
        data = self.run_script("JSON.parse(document.getElementById('data').textContent).stacks.values")
        data = {metric: values[0] for metric, values in data.items() if not metric.startswith("pinned")}
        self.assertEqual(data, {metric: total[metric] for metric in data})
        self.assertEqual(len(data), 6)
        self.assertEqual(self.box("lex").get_attribute("data-value"), "400")
        self.assertAlmostEqual(self.share("lex"), 400 / 407, places=2)

    def test_zooms_where_it_is_clicked(self):
        self.box("read").click()
        self.assertAlmostEqual(self.share("read"), 1, places=2)
        self.assertNotIn("lex", self.names())
        self.assertIn("main", self.names())
        self.driver.find_element(By.ID, "flame-back").click()
        self.assertIn("lex", self.names())

    def test_tells_what_is_under_the_pointer(self):
        ActionChains(self.driver).move_to_element(self.box("lex")).perform()
        self.assertIn("400 B at the peak; 98.3% of all", self.detail())
        self.assertIn("lex.h:3, app", self.detail())

    def test_names_who_asked_for_most(self):
        first = self.driver.find_elements(By.CSS_SELECTOR, ".tops tbody tr")[0]
        self.assertIn("lex", first.text)
        self.assertIn("400 B", first.text)
        first.find_element(By.TAG_NAME, "button").click()
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, ".frame.found")), 1)

    def test_reaches_both_edges(self):
        for width in (1440, 390):
            self.show("stacks", width=width, height=844)
            left, right, inner_left, inner_right = self.run_script("""((box, rows) => [box.left, box.right,
                rows.left + 1, rows.right - 1])(arguments[0].getBoundingClientRect(),
                document.querySelector('.flame').getBoundingClientRect())""", self.box("all"))
            self.assertAlmostEqual(left, inner_left, delta=1)
            self.assertAlmostEqual(right, inner_right, delta=1)

    def test_is_drawn_however_many_boxes_there_are(self):
        boxes = 150_000  # more than a function can have arguments
        shown = self.run_script("""((count) => {
            const list = (value) => new Array(count).fill(value);
            const place = document.createElement('div');
            heaptape.flame({sites: {texts: [], functions: [], modules: [], values: {calls: []}}, stacks: {
                leastShare: 0, mergedNodes: 0, names: ['f'], moduleOf: [0], fileOf: [0], lines: [0], modules: [''], files: [''],
                frames: [0, ...list(1)], depths: [...list(0).keys(), count], values: {calls: [1, ...list(1)]}}}, place);
            return place.querySelectorAll('.frame').length;
        })(arguments[0])""", boxes)
        self.assertEqual(shown, boxes + 1)

    def test_is_not_there_without_stacks(self):
        self.show("fill")
        self.assertEqual(self.driver.find_elements(By.ID, "flame"), [])


class Sites(FlameGraph, ReplayPages):
    """Who asked: as the report has it, whatever the flame graph merges."""

    wanted = ("stacks", "small", "sampled")

    def test_have_the_figures_of_the_report(self):
        for name in ("stacks", "small", "sampled"):
            self.show(name)
            sites = self.pages[name].report["tape"]["sites"]["list"]
            for metric in ("peakBytes", "liveBytes", "calls"):
                self.choose_metric(metric)
                expected = sorted((one["totals"][metric], one["site"]) for one in sites)
                found = self.run_script("""[...document.querySelectorAll('.tops tbody tr')].map((row) =>
                    [Number([...row.cells].find((cell) => cell.dataset.metric === arguments[0]).dataset.value), row.cells[0].firstChild.title])""", metric)
                self.assertEqual(sorted(found), sorted(map(list, expected)), (name, metric))
                values = [value for value, _ in found]
                self.assertEqual(values, sorted(values, reverse=True))

    def test_are_there_where_the_graph_merges_them(self):
        self.show("small")
        last = self.rows()[-1]
        self.assertTrue(last[0].startswith("read(app.cc:40)"), last)
        self.assertEqual((last[1], last[-1]), ("7 B", "<0.1%"))
        self.assertEqual(self.driver.find_element(By.ID, "flame-merged").text, "Merged in the graph: 7 B at the peak, <0.1% of all.")
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, ".tops tbody button")), 1)

    def test_are_found_by_their_whole_names(self):
        self.show("stacks")
        button = self.driver.find_elements(By.CSS_SELECTOR, ".tops tbody button")[0]
        button.click()
        self.assertEqual(self.driver.find_element(By.ID, "flame-search").get_attribute("value"), "^lex app$")

    def test_are_said_to_be_estimated_where_they_are(self):
        self.show("stacks")
        self.assertNotIn("estimated", self.driver.find_element(By.ID, "flame").text)
        self.show("sampled")
        sampling = self.pages["sampled"].report["tape"]["sites"]["sampling"]
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, "#flame h2").text, "Call stacks (estimated)")
        self.assertIn(f"stacks of {sampling['calls']} calls, chosen at random: one byte in 2.00 KiB",
                      self.driver.find_element(By.ID, "flame-estimated").text)
        self.assertIn("call site (estimated)", self.run_script("document.querySelector('.tops th').textContent"))


class Pinned(FlameGraph, ReplayPages):
    """main and read pin half of a hole of 10,016 bytes each; at the end read pins 20,016 bytes more."""

    wanted = ("pinned",)

    def setUp(self):
        self.show("pinned")

    def test_has_a_choice_of_moments_and_then_of_runs(self):
        self.assertFalse(self.driver.find_element(By.ID, "flame-run").is_displayed())
        self.assertEqual(self.moments(), ["bytes pinned at the peak and exit", "bytes pinned at the end"])
        self.choose("flame-value", self.moments()[0])
        self.assertTrue(self.driver.find_element(By.ID, "flame-run").is_displayed())
        self.assertEqual(self.choices("flame-run"), ["model:ptmalloc: 9.78 KiB", "recorded: 9.78 KiB"])

    def test_has_the_holes_of_the_report(self):
        for one in self.pages["pinned"].report["runs"][:2]:
            for moment, metric in ((0, "atPeak.residentHoleBytes"), (-1, "end.residentHoleBytes")):
                self.choose("flame-value", self.moments()[moment])
                self.choose("flame-run", one["label"])
                self.assertEqual(self.values()["all"], at_path(one, metric), (one["label"], metric))

    def test_has_the_functions_whose_blocks_pin(self):
        self.choose("flame-value", self.moments()[0])
        self.assertEqual(self.values(), {"all": 10_016, "main": 10_016, "read": 5_008})
        self.choose("flame-value", self.moments()[-1])
        self.assertEqual(self.values(), {"all": 30_032, "main": 30_032, "read": 25_024})

    def test_keeps_the_run_when_the_moment_changes(self):
        self.choose("flame-value", self.moments()[0])
        self.choose("flame-run", "recorded")
        self.choose("flame-value", self.moments()[-1])
        self.assertTrue(self.driver.find_element(By.ID, "flame").text.count("in recorded"))
        self.choose("flame-value", "calls")
        self.assertFalse(self.driver.find_element(By.ID, "flame-run").is_displayed())

    def test_tells_what_is_under_the_pointer(self):
        self.choose("flame-value", self.moments()[-1])
        ActionChains(self.driver).move_to_element(self.box("read")).perform()
        self.assertIn("24.4 KiB (25,024 B) pinned at the end in model:ptmalloc; 83.3% of all", self.detail())

    def test_shows_all_again_where_a_function_has_nothing(self):
        self.choose("flame-value", "calls")
        self.box("lex").click()
        self.choose("flame-value", self.moments()[-1])
        self.assertEqual(self.values(), {"all": 30_032, "main": 30_032, "read": 25_024})
        self.assertAlmostEqual(self.share("read"), 25_024 / 30_032, places=2)

    def test_is_searched(self):
        self.choose("flame-value", self.moments()[0])
        self.driver.find_element(By.ID, "flame-search").send_keys("^read")
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, "#flame .tools [role=status]").text, "4.89 KiB, 50.0%, in 1 place")

    def test_names_the_sites(self):
        self.choose("flame-value", self.moments()[-1])
        rows = self.rows()[:2]
        self.assertEqual([row[0].split("(")[0] for row in rows], ["read", "main"])
        self.assertEqual([row[-2:] for row in rows], [["24.4 KiB", "83.3%"], ["4.89 KiB", "16.7%"]])


if __name__ == "__main__":
    harness.main("flame_test")
