"""What `heaptape replay --html` writes, in a browser.

usage: python3 -m tests.browser.page_test HEAPTAPE MAKE_PAGE_TAPES [unittest option...]
Without a browser it says so, as tests/skipped_tests.py wants it, and ends with status 77.
"""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from . import browser, harness
from .harness import Made, figure, heaptape

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

class MadeDiff:
    """Of the tape of stacks, and its first three calls as the base."""

    def __init__(self, folder):
        self.path = folder / "diff.html"
        base, now = folder / "base.json", folder / "stacks.json"
        heaptape("replay", folder / "stacks.tape", "-a", "model:ptmalloc", "--until", "3", "-o", base)
        sampled = folder / "sampled.json"
        heaptape("diff", sampled, now, "--html", folder / "sampled_diff.html")
        self.text = heaptape("diff", base, now, "--html", self.path, "--fail-if", "peak.liveBytes < 1")
        self.json = json.loads(heaptape("diff", base, now, "--format", "json"))


class MadePinnedDiff:
    """Of the tape of pins: its first six calls as the base. Only the new one has a run of its own name."""

    def __init__(self, folder):
        self.path = folder / "pinned_diff.html"
        base = folder / "pinned_base.json"
        heaptape("replay", folder / "pinned.tape", "-a", "model:ptmalloc", "--until", "6", "-o", base)
        heaptape("diff", base, folder / "pinned.json", "--html", self.path)


def setUpModule():
    global folder, driver, pages
    folder = tempfile.TemporaryDirectory(prefix="heaptape-pages-")
    place = Path(folder.name)
    subprocess.run([harness.MAKE_TAPES, place], check=True, timeout=60)
    hostile_tape = place / "<img src=x onerror=hostile=1>.tape"
    (place / "hostile.tape").rename(hostile_tape)
    (place / "hostile.tape.symbols").rename(f"{hostile_tape}.symbols")
    heaptape("scenario", "fill", "-o", place / "fill.tape")
    models = ["-a", "one=model:ptmalloc", "-a", "model:slabs", "-a", "recorded", "--jobs", "2"]
    pages = {
        "stacks": Made(place, "stacks", place / "stacks.tape", "-a", "model:ptmalloc"),
        "fill": Made(place, "fill", place / "fill.tape", *models),
        "long": Made(place, "long", place / "fill.tape", "--samples", "20k", *models),
        "hostile": Made(place, "hostile", hostile_tape, "-a", "<img>=model:ideal",
                        "-a", "<b>&amp;=model:ptmalloc"),
        "process": Made(place, "process", place / "process.tape", "-a", "recorded", "-a", "noop"),
    }
    for name in ("sampled", "small"):
        pages[name] = Made(place, name, place / f"{name}.tape", "-a", "model:ptmalloc")
    pages["pinned"] = Made(place, "pinned", place / "pinned.tape", "-a", "model:ptmalloc", "-a", "recorded", "-a", "noop")
    pages["diff"] = MadeDiff(place)
    pages["pinned diff"] = MadePinnedDiff(place)
    driver = browser.start()


def tearDownModule():
    driver.quit()
    folder.cleanup()


def show(name, **looks):
    browser.show(driver, pages[name].path, **looks)


def run(script, *arguments):
    return driver.execute_script("return " + script, *arguments)


def complaints():
    return harness.complaints(driver)


class Page(unittest.TestCase):
    def test_opens_without_a_complaint(self):
        for name in pages:
            for looks in ({}, {"width": 390, "height": 844, "scheme": "dark"}):
                with self.subTest(name, **looks):
                    show(name, **looks)
                    self.assertEqual(run("document.documentElement.dataset.ready"), "yes")
                    self.assertIsNone(run("document.documentElement.dataset.errors || null"))
                    self.assertEqual(complaints(), [])

    def test_asks_for_nothing_but_itself(self):
        show("stacks")
        asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        urls = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
        self.assertEqual(urls, [pages["stacks"].path.as_uri()])

    def test_fits_a_narrow_screen(self):
        for name in pages:
            with self.subTest(name):
                show(name, width=390, height=844)
                self.assertEqual(run("document.documentElement.scrollWidth"), 390)

    def test_leaves_room_for_figures_beside_long_names(self):
        show("diff", width=390, height=844)
        run("document.querySelector('#sites tbody th button').textContent = 'app::'.repeat(40)")
        self.assertLess(run("document.querySelector('#sites tbody th').offsetWidth"), 0.6 * 390)

    def test_breaks_words_only_where_they_need_half_of_a_phone(self):
        show("diff", width=390, height=844)
        heads = run("[...document.querySelectorAll('tbody th')].filter((head) => head.offsetWidth)"
                    ".map((head) => {const text = document.createRange(); text.selectNodeContents(head.querySelector('button') ?? head);"
                    " const lines = new Set([...text.getClientRects()].map((line) => line.top));"
                    " return [head.textContent, lines.size, head.offsetWidth];})")
        self.assertTrue(heads)
        for text, lines, width in heads:
            with self.subTest(text):
                self.assertTrue(lines <= len(text.split()) or width >= 390 / 2)

    def test_names_who_has_most_first(self):
        show("stacks")
        self.assertEqual(run("document.getElementById('who').textContent"),
                         "Of the 407 B live at the peak, 98.3% were asked for by lex (lex.h:3).")
        show("fill")
        self.assertIsNone(run("document.getElementById('who')"))

    def test_has_two_looks(self):
        colours = []
        for scheme in ("light", "dark"):
            show("fill", scheme=scheme)
            colours.append(run("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(colours, ["rgb(255, 255, 255)", "rgb(20, 23, 26)"])

    def test_stays_small(self):
        for name, made in pages.items():
            self.assertLess(made.path.stat().st_size, 1_000_000, name)


class Figures(unittest.TestCase):
    def compare(self, name, selector):
        show(name)
        runs = {one["label"]: one for one in pages[name].report["runs"]}
        shown = run("""[...document.querySelectorAll(arguments[0])].map((cell) => [
            cell.closest('tr').querySelector('th').textContent, cell.dataset.metric, cell.dataset.value,
            cell.textContent])""", selector)
        self.assertGreater(len(shown), 5)
        for label, metric, value, text in shown:
            expected = figure(runs[label], metric)
            self.assertEqual(None if value is None else float(value), expected, (label, metric))
            self.assertIn(text, pages[name].text, (label, metric))

    def test_of_the_runs_are_those_of_the_report_and_of_the_terminal(self):
        for name in ("stacks", "fill"):
            self.compare(name, "#runs td[data-metric]")

    def test_of_the_run_itself_say_what_its_resident_sizes_are(self):
        for name, is_said in (("process", True), ("fill", False)):  # no samples in fill
            show(name)
            note = run("document.querySelector('#runs .note').textContent")
            self.assertEqual("as the recorder last sampled it" in note, is_said, name)

    def test_of_the_account_are_those_of_the_report(self):
        self.compare("fill", "#account td[data-metric]")
        runs = {one["label"]: one for one in pages["fill"].report["runs"]}
        state, bars = run("""[document.querySelector('.account').dataset.state,
            [...document.querySelectorAll('.account .label')].map((label) => [label.textContent,
              [...label.nextSibling.children].map((part) => [part.dataset.metric, Number(part.dataset.value)])])]""")
        self.assertEqual(len(bars), 3)
        for label, parts in bars:
            self.assertGreater(len(parts), 0)
            for metric, value in parts:
                self.assertEqual(value, figure(runs[label], f"{state}.{metric}"), (label, metric))

    def test_change_with_the_moment(self):
        show("fill")
        buttons = driver.find_elements(By.CSS_SELECTOR, "#account .tools button")
        states = set()
        for button in buttons:
            button.click()
            self.assertEqual(button.get_attribute("aria-pressed"), "true")
            states.add(run("document.querySelector('.account').dataset.state"))
        self.assertEqual(len(states), len(buttons))

    def test_have_one_choice_for_moments_that_are_one(self):
        for name in ("fill", "stacks", "small"):
            show(name)
            moments, accounts = run("(data => [data.moments, data.accounts])(JSON.parse(document.getElementById('data').textContent))")
            at = {moment["name"]: moment["at"] for moment in moments}
            calls = {at[account["moment"]] for account in accounts if account["rows"]}
            words = run("[...document.querySelectorAll('#account .tools button')].map((button) => button.textContent)")
            self.assertEqual(len(words), len(calls), (name, words))
            shown = ", ".join(words)
            for account in accounts:
                self.assertTrue(account["moment"] in shown or not account["rows"], (name, account["moment"], words))

    def test_are_marked_where_a_run_holds_least(self):
        show("fill")
        best = run("JSON.parse(document.getElementById('data').textContent).best")
        marked = run("""[...document.querySelectorAll('#runs td.best')].map((cell) => [
            cell.closest('tr').querySelector('th').textContent, cell.dataset.metric])""")
        self.assertGreater(len(best), 0)
        self.assertEqual(sorted(marked), sorted([one["label"], one["state"] + ".residentBytes"] for one in best))

    def test_of_the_account_have_bars_in_proportion(self):
        show("fill")
        rows = [{"label": "a", "liveBytes": 300, "account.holeBytes": 100},
                {"label": "b", "liveBytes": 200, "account.unexplainedBytes": -50}]
        shown = run("""((rows) => {
            const made = heaptape.summary.account({accounts: [{moment: 'peak', state: 'atPeak', rows}],
                moments: [{name: 'peak', at: 1}], accountTable: {rows: [], columns: []}});
            const bars = [...made.querySelectorAll('.bar')].map((bar) => [...bar.children].map((part) => part.style.width));
            return [bars, [...made.querySelectorAll('.sum')].map((sum) => sum.textContent)];
        })(arguments[0])""", rows)
        self.assertEqual(shown, [[["75%", "25%"], ["50%"]], ["400 B kept", "200 B kept"]])

    def test_stand_below_the_headings_of_their_groups(self):
        for name in ("stacks", "fill"):
            show(name)
            for spans, cells in run("""[...document.querySelectorAll('#runs table, #account table')].map((table) => [
                    [...table.rows[0].cells].map((cell) => cell.colSpan), table.rows[1].cells.length])"""):
                self.assertEqual(sum(spans), cells)

    def test_of_the_charts_are_those_of_the_report(self):
        show("fill")
        lists, series = run("(data => [data.timeline.lists, data.timeline.series])"
                            "(JSON.parse(document.getElementById('data').textContent))")
        for one in series:
            for number, line in enumerate(one["runs"]):
                if line:
                    expected = figure(pages["fill"].report["runs"][number]["timeline"], one["metric"])
                    self.assertEqual(lists[line["values"]], expected, one["metric"])


class Numbers(unittest.TestCase):
    """As base/number_text.cc writes them; its tests have the same ones."""

    def expect(self, call, texts):
        show("fill")
        numbers = list(texts)
        self.assertEqual(dict(zip(numbers, run(f"arguments[0].map((number) => {call})", numbers))), texts)

    def test_of_bytes_are_those_of_the_terminal(self):
        self.expect("heaptape.bytes(number)", {
            0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 1152: "1.12 KiB", 1664: "1.62 KiB", 1920: "1.88 KiB",
            10_496: "10.2 KiB", 10_239: "10.0 KiB", 12_897_485: "12.3 MiB", (1 << 20) - 1: "1.00 MiB",
            1023 << 10: "1023.0 KiB", 500 << 30: "500.0 GiB", "18446744073709551615": "16777216.0 TiB",
            -1152: "-1.12 KiB", -1: "-1 B"})

    def test_of_times_are_those_of_the_terminal(self):
        self.expect("heaptape.duration(number)", {0: "0.00 ns", 81.25: "81.2 ns", 1125: "1.12 us", 1_500_000: "1.50 ms",
                                                  999_960: "1.00 ms", 7.2e12: "7200.0 s"})

    def test_of_shares_are_those_of_the_terminal(self):
        self.expect("heaptape.share(number, 1600)", {0: "0.0%", 0.5: "<0.1%", 1: "0.1%", 100: "6.2%", 300: "18.8%", 1600: "100.0%"})


class Hostile(unittest.TestCase):
    def test_names_do_nothing(self):
        show("hostile")
        self.assertEqual(run("document.querySelectorAll('img, b, #main script').length"), 0)
        for frame in driver.find_elements(By.CSS_SELECTOR, ".frame"):
            ActionChains(driver).move_to_element(frame).perform()
        driver.find_element(By.ID, "flame-search").send_keys("<script>")
        self.assertIn("in 3 places", driver.find_element(By.ID, "flame").text)
        self.assertIsNone(run("window.hostile || null"))
        self.assertEqual(complaints(), [])

    def test_names_are_shown_as_they_are(self):
        show("hostile")
        self.assertIn("<img src=x onerror=hostile=1>.tape", run("document.querySelector('h1').textContent"))
        self.assertIn("</script><script>hostile=1</script><!--\"'`><img src=x", run(
            "document.querySelector('[data-node=\"1\"]').textContent"))
        labels = run("[...document.querySelectorAll('#runs tbody th')].map((cell) => cell.textContent)")
        self.assertEqual(labels, ["<img>", "<b>&amp;"])

    def test_scripts_that_others_put_in_do_not_run(self):
        page = pages["stacks"].path
        bad = page.with_name("bad.html")
        bad.write_text(page.read_text().replace(
            '<main id="main">', '<main id="main"><script>hostile = 1</script><img src="x" onerror="hostile = 2">'
            '<a id="link" href="javascript:hostile=3">link</a>'))
        browser.show(driver, bad)
        driver.find_element(By.ID, "link").click()
        self.assertEqual(run("document.documentElement.dataset.ready"), "yes")
        self.assertIsNone(run("window.hostile || null"))
        self.assertTrue(any("Content Security Policy" in one for one in complaints()))

    def test_nothing_is_evaluated_or_fetched(self):
        show("stacks")
        refused = run("""(() => { const script = document.createElement('script');
            script.textContent = 'window.hostile = 1'; document.body.append(script);
            return window.hostile || null; })()""")
        self.assertIsNone(refused)
        fetched = driver.execute_async_script("""const done = arguments[0];
            fetch('http://127.0.0.1:9/').then(() => done('fetched'), (error) => done('refused'))""")
        self.assertEqual(fetched, "refused")
        self.assertTrue(any("connect-src" in one or "default-src" in one for one in complaints()))


class Charts(unittest.TestCase):
    def status(self):
        return driver.find_element(By.CSS_SELECTOR, "#timeline .tools [role=status]").text

    def plot(self, number=0):
        return driver.find_elements(By.CSS_SELECTOR, "#timeline .plot")[number]

    def setUp(self):
        show("fill")
        driver.execute_script("document.getElementById('timeline').scrollIntoView()")

    def test_zoom_together(self):
        self.assertTrue(self.status().startswith("the whole run"), self.status())
        ActionChains(driver).move_to_element(self.plot()).click_and_hold().move_by_offset(100, 0).release().perform()
        self.assertIn("shown: #", self.status())
        labels = run("""[...document.querySelectorAll('#timeline .plot')].map((plot) =>
            [...plot.querySelectorAll('.dygraph-axis-label-x')].map((label) => label.textContent).join())""")
        self.assertEqual(len(set(labels)), 1, labels)
        ActionChains(driver).double_click(self.plot(1)).perform()
        self.assertIn("the whole run", self.status())

    def test_share_a_cursor(self):
        ActionChains(driver).move_to_element(self.plot(2)).perform()
        self.assertIn("cursor at #", self.status())
        values = [one.text for one in driver.find_elements(By.CSS_SELECTOR, "#timeline .values")]
        for value in values:
            self.assertRegex(value, r"\d")

    def test_obey_the_keyboard(self):
        self.plot().send_keys(Keys.ARROW_RIGHT, "+")
        self.assertIn("cursor at #", self.status())
        self.assertIn("shown: ", self.status())
        self.plot().send_keys(Keys.ESCAPE)
        self.assertIn("the whole run", self.status())

    def test_hide_runs(self):
        ActionChains(driver).move_to_element(self.plot()).perform()
        self.assertIn("one", driver.find_element(By.CSS_SELECTOR, "#timeline .values").text)
        driver.find_element(By.CSS_SELECTOR, "#timeline .key").click()
        ActionChains(driver).move_to_element(self.plot()).perform()
        self.assertNotIn("one", driver.find_element(By.CSS_SELECTOR, "#timeline .values").text)

    def test_have_all_metrics_on_request(self):
        before = len(driver.find_elements(By.CSS_SELECTOR, "#timeline .plot"))
        driver.find_element(By.CSS_SELECTOR, "#timeline summary").click()
        browser_has = lambda: len(driver.find_elements(By.CSS_SELECTOR, "#timeline .plot"))
        self.assertGreater(browser_has(), before)

    def test_say_what_a_long_timeline_leaves_out(self):
        show("long")
        self.assertIn("Of 20,000 samples", driver.find_element(By.ID, "timeline").text)


class Flame(unittest.TestCase):
    """Of a tape of which all is known: main has 407 bytes at the peak, lex 400 and read 7 of them."""

    def setUp(self):
        show("stacks")

    def box(self, name):
        return driver.find_element(By.XPATH, f"//div[contains(@class, 'frame')][starts-with(@aria-label, '{name},')]")

    def names(self):
        return [one.get_attribute("aria-label").split(",")[0] for one in driver.find_elements(By.CSS_SELECTOR, ".frame")]

    def share(self, name):
        return run("arguments[0].offsetWidth / document.querySelector('.flame .rows').offsetWidth", self.box(name))

    def detail(self):
        return driver.find_element(By.CSS_SELECTOR, ".detail").text

    def test_has_the_sums_of_the_report(self):
        total = pages["stacks"].report["tape"]["sites"]["total"]
        data = run("JSON.parse(document.getElementById('data').textContent).stacks.values")
        data = {metric: values[0] for metric, values in data.items() if not metric.startswith("pinned")}
        self.assertEqual(data, {metric: total[metric] for metric in data})
        self.assertEqual(len(data), 5)
        self.assertEqual(self.box("lex").get_attribute("data-value"), "400")
        self.assertAlmostEqual(self.share("lex"), 400 / 407, places=2)

    def test_zooms_where_it_is_clicked(self):
        self.box("read").click()
        self.assertAlmostEqual(self.share("read"), 1, places=2)
        self.assertNotIn("lex", self.names())
        self.assertIn("main", self.names())
        driver.find_element(By.ID, "flame-back").click()
        self.assertIn("lex", self.names())

    def test_tells_what_is_under_the_pointer(self):
        ActionChains(driver).move_to_element(self.box("lex")).perform()
        self.assertIn("400 B at the peak; 98.3% of all", self.detail())
        self.assertIn("lex.h:3, app", self.detail())

    def test_obeys_the_keyboard(self):
        self.box("all").click()
        keys = ActionChains(driver)
        keys.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER).perform()
        self.assertAlmostEqual(self.share("read"), 1, places=2)
        ActionChains(driver).send_keys(Keys.ESCAPE).perform()
        self.assertIn("lex", self.names())

    def test_finds(self):
        field = driver.find_element(By.ID, "flame-search")
        field.send_keys("^(parse|lex|read)\\b")
        text = driver.find_element(By.CSS_SELECTOR, "#flame .tools [role=status]").text
        self.assertEqual(text, "407 B, 100.0%, in 3 places")
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".frame.found")), 3)
        field.send_keys("(")
        self.assertEqual(field.get_attribute("aria-invalid"), "true")

    def test_weighs_as_asked(self):
        choice = driver.find_element(By.ID, "flame-value")
        choice.click()
        choice.send_keys("calls", Keys.ENTER)
        self.assertEqual(self.box("all").get_attribute("data-value"), "5")
        self.assertEqual(self.box("read").get_attribute("data-value"), "2")

    def test_names_who_asked_for_most(self):
        first = driver.find_elements(By.CSS_SELECTOR, ".tops tbody tr")[0]
        self.assertIn("lex", first.text)
        self.assertIn("400 B", first.text)
        first.find_element(By.TAG_NAME, "button").click()
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".frame.found")), 1)

    def test_reaches_both_edges(self):
        for width in (1440, 390):
            show("stacks", width=width, height=844)
            left, right, inner_left, inner_right = run("""((box, rows) => [box.left, box.right,
                rows.left + 1, rows.right - 1])(arguments[0].getBoundingClientRect(),
                document.querySelector('.flame').getBoundingClientRect())""", self.box("all"))
            self.assertAlmostEqual(left, inner_left, delta=1)
            self.assertAlmostEqual(right, inner_right, delta=1)

    def test_is_drawn_however_many_boxes_there_are(self):
        boxes = 150_000  # more than a function can have arguments
        shown = run("""((count) => {
            const list = (value) => new Array(count).fill(value);
            const place = document.createElement('div');
            heaptape.flame({sites: {texts: [], functions: [], modules: [], values: {calls: []}}, stacks: {
                leastShare: 0, mergedNodes: 0, names: ['f'], moduleOf: [0], fileOf: [0], lines: [0], modules: [''], files: [''],
                frames: [0, ...list(1)], depths: [...list(0).keys(), count], values: {calls: [1, ...list(1)]}}}, place);
            return place.querySelectorAll('.frame').length;
        })(arguments[0])""", boxes)
        self.assertEqual(shown, boxes + 1)

    def test_is_not_there_without_stacks(self):
        show("fill")
        self.assertEqual(driver.find_elements(By.ID, "flame"), [])


class Sites(unittest.TestCase):
    """Who asked: as the report has it, whatever the flame graph merges."""

    def rows(self):
        return run("[...document.querySelectorAll('.tops tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")

    def choose(self, metric):
        driver.execute_script("const select = document.getElementById('flame-value'); select.value = arguments[0];"
                              "select.dispatchEvent(new Event('change'))", metric)

    def test_have_the_figures_of_the_report(self):
        for name in ("stacks", "small", "sampled"):
            show(name)
            sites = pages[name].report["tape"]["sites"]["list"]
            for metric in ("peakBytes", "liveBytes", "calls"):
                self.choose(metric)
                suffix = "" if metric == "calls" else " B"
                expected = sorted((one["totals"][metric], one["site"]) for one in sites if one["totals"][metric])
                texts = run("[...document.querySelectorAll('.tops tbody td:first-child > :first-child')].map((one) => one.textContent)")
                self.assertEqual(sorted(texts), sorted(site for _, site in expected), (name, metric))
                if metric == "calls":
                    values = [int(row[1].replace(",", "")) for row in self.rows()]
                    self.assertEqual(values, sorted((value for value, _ in expected), reverse=True))

    def test_are_there_where_the_graph_merges_them(self):
        show("small")
        last = self.rows()[-1]
        self.assertTrue(last[0].startswith("read (app.cc:40)"), last)
        self.assertEqual(last[1:], ["7 B", "<0.1%"])
        self.assertEqual(driver.find_element(By.ID, "flame-merged").text, "Merged in the graph: 7 B at the peak, <0.1% of all.")
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".tops button")), 1)

    def test_are_found_by_their_whole_names(self):
        show("stacks")
        button = driver.find_elements(By.CSS_SELECTOR, ".tops button")[0]
        button.click()
        self.assertEqual(driver.find_element(By.ID, "flame-search").get_attribute("value"), "^lex app$")

    def test_are_said_to_be_estimated_where_they_are(self):
        show("stacks")
        self.assertNotIn("estimated", driver.find_element(By.ID, "flame").text)
        show("sampled")
        sampling = pages["sampled"].report["tape"]["sites"]["sampling"]
        self.assertEqual(driver.find_element(By.CSS_SELECTOR, "#flame h2").text, "Who asked for it (estimated)")
        self.assertIn(f"stacks of {sampling['calls']} calls, chosen at random: one byte in 2.00 KiB",
                      driver.find_element(By.ID, "flame-estimated").text)
        self.assertIn("who asked (estimated)", run("document.querySelector('.tops th').textContent"))

    def test_of_two_tapes_say_which_is_estimated(self):
        browser.show(driver, pages["sampled"].path.with_name("sampled_diff.html"))
        self.assertEqual(driver.find_element(By.CSS_SELECTOR, "#flame h2").text,
                         "Who asked for more, and who for less (estimated)")
        text = driver.find_element(By.ID, "flame-estimated").text
        self.assertIn("Those of the base are estimated from the stacks of 4 calls", text)
        self.assertIn("Those of the new tape are exact.", text)


def choose(select, text):
    """As the first of its choices that begins so."""
    field = driver.find_element(By.ID, select)
    [option, *_] = [one for one in field.find_elements(By.TAG_NAME, "option") if one.text.startswith(text)]
    option.click()


def choices(select):
    return [one.text for one in driver.find_element(By.ID, select).find_elements(By.TAG_NAME, "option")]


class Pinned(unittest.TestCase):
    """main and read pin half of a hole of 10,016 bytes each; at the end read pins 20,016 bytes more."""

    def setUp(self):
        show("pinned")

    def values(self):
        return dict(run("""[...document.querySelectorAll('.frame')].map((box) =>
            [box.getAttribute('aria-label').split(',')[0], Number(box.dataset.value)])"""))

    def moments(self):
        return [text for text in choices("flame-value") if text.startswith("bytes pinned")]

    def test_has_a_choice_of_moments_and_then_of_runs(self):
        self.assertFalse(driver.find_element(By.ID, "flame-run").is_displayed())
        self.assertEqual(self.moments(), ["bytes pinned at the peak and exit", "bytes pinned at the end"])
        choose("flame-value", self.moments()[0])
        self.assertTrue(driver.find_element(By.ID, "flame-run").is_displayed())
        self.assertEqual(choices("flame-run"), ["model:ptmalloc: 9.78 KiB", "recorded: 9.78 KiB"])

    def test_has_the_holes_of_the_report(self):
        for one in pages["pinned"].report["runs"][:2]:
            for moment, metric in ((0, "atPeak.residentHoleBytes"), (-1, "end.residentHoleBytes")):
                choose("flame-value", self.moments()[moment])
                choose("flame-run", one["label"])
                self.assertEqual(self.values()["all"], figure(one, metric), (one["label"], metric))

    def test_has_the_functions_whose_blocks_pin(self):
        choose("flame-value", self.moments()[0])
        self.assertEqual(self.values(), {"all": 10_016, "main": 10_016, "read": 5_008})
        choose("flame-value", self.moments()[-1])
        self.assertEqual(self.values(), {"all": 30_032, "main": 30_032, "read": 25_024})

    def test_keeps_the_run_when_the_moment_changes(self):
        choose("flame-value", self.moments()[0])
        choose("flame-run", "recorded")
        choose("flame-value", self.moments()[-1])
        self.assertTrue(driver.find_element(By.ID, "flame").text.count("in recorded"))
        choose("flame-value", "calls")
        self.assertFalse(driver.find_element(By.ID, "flame-run").is_displayed())

    def test_tells_what_is_under_the_pointer(self):
        choose("flame-value", self.moments()[-1])
        ActionChains(driver).move_to_element(driver.find_element(By.XPATH, "//div[starts-with(@aria-label, 'read,')]")).perform()
        text = driver.find_element(By.CSS_SELECTOR, ".detail").text
        self.assertIn("24.4 KiB (25,024 B) pinned at the end in model:ptmalloc; 83.3% of all", text)

    def test_is_searched(self):
        choose("flame-value", self.moments()[0])
        driver.find_element(By.ID, "flame-search").send_keys("^read")
        self.assertEqual(driver.find_element(By.CSS_SELECTOR, "#flame .tools [role=status]").text, "4.89 KiB, 50.0%, in 1 places")

    def test_names_the_sites(self):
        choose("flame-value", self.moments()[-1])
        rows = run("[...document.querySelectorAll('.tops tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
        self.assertEqual([row[0].split(" ")[0] for row in rows], ["read", "main"])
        self.assertEqual([row[1] for row in rows], ["24.4 KiB", "4.89 KiB"])

    def test_of_two_tapes_is_what_both_have(self):
        show("pinned diff")
        self.assertEqual(self.moments(), ["bytes pinned at the peak and exit", "bytes pinned at the end"])
        choose("flame-value", self.moments()[-1])
        self.assertEqual(choices("flame-run"), ["model:ptmalloc: 9.78 KiB \u2192 29.3 KiB"])
        self.assertEqual(self.values()["read"], 25_024)
        driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        self.assertEqual(self.values()["read"], 5_008)


class Diff(Flame):
    """The base has 100 bytes of lex and 57 of read, the new tape 400 of lex and 7 of read."""

    def setUp(self):
        show("diff")

    def colour(self, name):
        return run("getComputedStyle(arguments[0]).backgroundColor.match(/[0-9]+/g).map(Number)", self.box(name))

    def test_has_the_sums_of_the_report(self):
        self.assertAlmostEqual(self.share("lex"), 400 / 407, places=2)
        ActionChains(driver).move_to_element(self.box("lex")).perform()
        self.assertIn("100 B in the base, 400 B in the new: +300 B", self.detail())

    def test_is_as_wide_as_the_base_on_request(self):
        driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        self.assertAlmostEqual(self.share("lex"), 100 / 157, places=2)
        self.assertAlmostEqual(self.share("read"), 57 / 157, places=2)

    def test_says_where_a_side_has_nothing(self):
        driver.execute_script("const select = document.getElementById('flame-value'); select.value = 'temporaries';"
                              "select.dispatchEvent(new Event('change'))")
        driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        self.assertEqual(driver.find_element(By.CSS_SELECTOR, ".flame .rows").text,
                         "Nothing to show: 0 temporaries: freed by the next call.")
        self.assertEqual(complaints(), [])
        driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=now]").click()
        self.assertGreater(len(driver.find_elements(By.CSS_SELECTOR, ".frame")), 0)

    def test_is_orange_where_there_is_more_and_blue_where_there_is_less(self):
        red, _, blue = self.colour("lex")
        self.assertGreater(red, blue)
        driver.find_element(By.CSS_SELECTOR, "#flame button[data-value=base]").click()
        red, _, blue = self.colour("read")
        self.assertGreater(blue, red)

    def test_names_who_asked_for_most(self):
        rows = [row.text for row in driver.find_elements(By.CSS_SELECTOR, "#sites tbody tr")]
        self.assertIn("100 B 400 B +300 B", rows[0])
        self.assertIn("57 B 7 B -50 B", rows[1])
        driver.find_element(By.CSS_SELECTOR, "#sites tbody button").click()
        self.assertEqual(driver.find_element(By.ID, "flame-search").get_attribute("value"), "^lex app$")
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".frame.found")), 1)

    def test_says_of_sites_what_the_diff_says(self):
        tables = run("""[...document.querySelectorAll('#sites table')].map((table) =>
            [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))""")
        self.assertEqual(len(tables), len(pages["diff"].json["sites"]))
        lines = [line.split() for line in pages["diff"].text.splitlines()]
        for row in sum(tables, []):
            self.assertIn(" ".join(row).split(), lines)

    def test_tells_what_is_under_the_pointer(self):
        ActionChains(driver).move_to_element(self.box("lex")).perform()
        self.assertIn("98.3% of all", self.detail())

    def test_figures_are_those_of_the_diff(self):
        self.assertIn(driver.find_element(By.ID, "verdict").text, pages["diff"].text)
        shown = run("""[...document.querySelectorAll('#changes td[data-side]')].map((cell) => [
            cell.closest('tr').querySelector('th').textContent, cell.dataset.side, Number(cell.dataset.value)])""")
        rows = pages["diff"].json["runs"][0]["metrics"]
        self.assertGreater(len(shown), 20)
        for metric, side, value in shown:
            self.assertEqual(value, float(rows[metric][side]), (metric, side))

    test_is_not_there_without_stacks = test_zooms_where_it_is_clicked = test_reaches_both_edges = None
    test_is_drawn_however_many_boxes_there_are = None


if __name__ == "__main__":
    harness.main("page_test")
