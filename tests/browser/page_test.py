"""What `heaptape replay --html` writes, in a browser: the page as a whole, its figures, hostile names."""

import json

from . import browser, harness
from .harness import complaints, figure
from .replay_pages import LONG_NAMES, ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By


class Page(ReplayPages):
    wanted = ("stacks", "fill", "fill, 20,000 samples", "hostile", "process", "sampled", "small", "pinned")

    def test_opens_without_a_complaint(self):
        for name, made in self.pages.items():
            with self.subTest(name):
                self.assert_opens_well(made.path)

    def test_asks_for_nothing_but_itself(self):
        self.show("stacks")
        asked = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
        self.assertEqual(urls, [self.pages["stacks"].path.as_uri()])

    def test_names_who_has_most_first(self):
        self.show("stacks")
        self.assertEqual(self.run_script("document.getElementById('who').textContent"),
                         "98.3% of the 407 B live at the peak were requested by lex (lex.h:3).")
        self.show("fill")
        self.assertIsNone(self.run_script("document.getElementById('who')"))

    def test_has_two_looks(self):
        colours = []
        for scheme in ("light", "dark"):
            self.show("fill", scheme=scheme)
            colours.append(self.run_script("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(colours, ["rgb(255, 255, 255)", "rgb(20, 23, 26)"])

    def test_stays_small(self):
        for name, made in self.pages.items():
            self.assertLess(made.path.stat().st_size, 1_000_000, name)


class Figures(ReplayPages):
    wanted = ("stacks", "fill", "process", "small")

    def compare(self, name, selector):
        self.show(name)
        runs = {one["label"]: one for one in self.pages[name].report["runs"]}
        shown = self.run_script("""[...document.querySelectorAll(arguments[0])].map((cell) => [
            cell.closest('tr').querySelector('th').textContent, cell.dataset.metric, cell.dataset.value,
            cell.textContent])""", selector)
        self.assertGreater(len(shown), 5)
        for label, metric, value, text in shown:
            expected = figure(runs[label], metric)
            self.assertEqual(None if value is None else float(value), expected, (label, metric))
            self.assertIn(text, self.pages[name].text, (label, metric))

    def test_of_the_runs_are_those_of_the_report_and_of_the_terminal(self):
        for name in ("stacks", "fill"):
            self.compare(name, "#runs td[data-metric]")

    def test_of_the_run_itself_say_what_its_resident_sizes_are(self):
        for name, is_said in (("process", True), ("fill", False)):  # no samples in fill
            self.show(name)
            note = self.run_script("document.querySelector('#runs .note').textContent")
            self.assertEqual("as last sampled before the moment" in note, is_said, name)

    def test_of_the_account_are_those_of_the_report(self):
        self.compare("fill", "#account td[data-metric]")
        runs = {one["label"]: one for one in self.pages["fill"].report["runs"]}
        state, bars = self.run_script("""[document.querySelector('.account').dataset.state,
            [...document.querySelectorAll('.account .label')].map((label) => [label.textContent,
              [...label.nextSibling.children].map((part) => [part.dataset.metric, Number(part.dataset.value)])])]""")
        self.assertEqual(len(bars), 3)
        for label, parts in bars:
            self.assertGreater(len(parts), 0)
            for metric, value in parts:
                self.assertEqual(value, figure(runs[label], f"{state}.{metric}"), (label, metric))

    def test_change_with_the_moment(self):
        self.show("fill")
        buttons = self.driver.find_elements(By.CSS_SELECTOR, "#account .tools button")
        states = set()
        for button in buttons:
            button.click()
            self.assertEqual(button.get_attribute("aria-pressed"), "true")
            states.add(self.run_script("document.querySelector('.account').dataset.state"))
        self.assertEqual(len(states), len(buttons))

    def test_have_one_choice_for_moments_that_are_one(self):
        for name in ("fill", "stacks", "small"):
            self.show(name)
            moments, accounts = self.run_script("(data => [data.moments, data.accounts])(JSON.parse(document.getElementById('data').textContent))")
            at = {moment["name"]: moment["at"] for moment in moments}
            calls = {at[account["moment"]] for account in accounts if account["rows"]}
            words = self.run_script("[...document.querySelectorAll('#account .tools button')].map((button) => button.textContent)")
            self.assertEqual(len(words), len(calls), (name, words))
            shown = ", ".join(words)
            for account in accounts:
                self.assertTrue(account["moment"] in shown or not account["rows"], (name, account["moment"], words))

    def test_are_marked_where_a_run_holds_least(self):
        self.show("fill")
        best = self.run_script("JSON.parse(document.getElementById('data').textContent).best")
        marked = self.run_script("""[...document.querySelectorAll('#runs td.best')].map((cell) => [
            cell.closest('tr').querySelector('th').textContent, cell.dataset.metric])""")
        self.assertGreater(len(best), 0)
        self.assertEqual(sorted(marked), sorted([one["label"], one["state"] + ".residentBytes"] for one in best))

    def test_of_the_account_have_bars_in_proportion(self):
        self.show("fill")
        rows = [{"label": "a", "liveBytes": 300, "account.holeBytes": 100},
                {"label": "b", "liveBytes": 200, "account.unexplainedBytes": -50, "account.untouchedBytes": 40, "account.returnedBytes": 7},
                {"label": "c", "backend": "recorded", "liveBytes": 100}]
        shown = self.run_script("""((rows) => {
            const made = heaptape.summary.account({accounts: [{moment: 'peak', state: 'atPeak', rows}],
                best: [{state: 'atPeak', label: 'b'}, {state: 'atPlateau', label: 'a'}],
                moments: [{name: 'peak', at: 1}], accountTable: {rows: [], columns: []}});
            const bars = [...made.querySelectorAll('.bar')].map((bar) => [...bar.children].map((part) => part.style.width));
            return [bars, [...made.querySelectorAll('.sum')].map((sum) => sum.textContent)];
        })(arguments[0])""", rows)
        self.assertEqual(shown, [[["75%", "25%"], ["50%"], ["25%"]],
                                 ["400 B resident", "160 B resident ◂ least + 40 B live, never touched + 7 B given back", "100 B in its heap"]])

    def test_of_the_account_say_who_holds_least_at_the_moment_that_is_chosen(self):
        self.show("fill")
        least = self.run_script("""(() => { const rows = [{label: 'a', liveBytes: 3}, {label: 'b', liveBytes: 2}];
            const made = heaptape.summary.account({accounts: [{moment: 'peak', state: 'atPeak', rows}, {moment: 'end', state: 'end', rows}],
                best: [{state: 'atPeak', label: 'b'}], moments: [{name: 'peak', at: 1}, {name: 'end', at: 2}],
                accountTable: {rows: [], columns: []}});
            return [1, 0].map((i) => {
                made.querySelectorAll('.tools button')[i].click();
                return [...made.querySelectorAll('.least')].map((least) => least.parentElement.textContent);
            }); })()""")
        self.assertEqual(least, [[], ["2 B resident ◂ least"]])

    def test_stand_below_the_headings_of_their_groups(self):
        for name in ("stacks", "fill"):
            self.show(name)
            for spans, cells in self.run_script("""[...document.querySelectorAll('#runs table, #account table')].map((table) => [
                    [...table.rows[0].cells].map((cell) => cell.colSpan), table.rows[1].cells.length])"""):
                self.assertEqual(sum(spans), cells)

    def test_of_the_charts_are_those_of_the_report(self):
        self.show("fill")
        lists, series = self.run_script("(data => [data.timeline.lists, data.timeline.series])"
                            "(JSON.parse(document.getElementById('data').textContent))")
        for one in series:
            for number, line in enumerate(one["runs"]):
                if line:
                    expected = figure(self.pages["fill"].report["runs"][number]["timeline"], one["metric"])
                    self.assertEqual(lists[line["values"]], expected, one["metric"])


class LongNames(ReplayPages):
    """Of runs: some hundred letters without a blank."""

    wanted = ("long names",)

    def test_leave_the_page_as_wide_as_the_screen(self):
        self.assert_opens_well(self.pages["long names"].path)

    def test_leave_half_of_the_width_to_bars(self):
        for width in (1440, 800, 390):
            self.show("long names", width=width)
            bars = self.run_script("""[...document.querySelectorAll('.account .bar')].map((bar) =>
                bar.offsetWidth / bar.parentElement.offsetWidth)""")
            self.assertGreaterEqual(min(bars), 0.5, width)

    def test_leave_the_first_bar_in_sight(self):
        for width, height in ((1440, 460), (390, 844)):
            self.show("long names", width=width, height=height)
            self.assertLess(self.run_script("document.querySelector('.account .bar').getBoundingClientRect().bottom"), height)

    def test_are_told_apart_where_they_are_cut_and_whole_in_the_title(self):
        self.show("long names")
        shown = self.run_script("[...document.querySelectorAll('.account .label, #timeline .key span, #map [aria-label=Run] button')].map((name) => [name.textContent, name.title])")
        self.assertEqual([title for _, title in shown], LONG_NAMES * 3)
        self.assertEqual(len({text for text, _ in shown}), len(LONG_NAMES))
        self.assertTrue(all(len(text) < 50 for text, _ in shown), shown)

    def test_leave_figures_of_tables_in_sight(self):
        for width in (1440, 390):
            self.show("long names", width=width)
            heads = self.run_script("[...document.querySelectorAll('#runs tbody th, #account tbody th')].map((head) => head.offsetWidth)")
            self.assertLess(max(heads), 0.6 * width)


class Numbers(ReplayPages):
    """As base/number_text.cc writes them; its tests have the same ones."""

    wanted = ("fill",)

    def expect(self, call, texts):
        self.show("fill")
        numbers = list(texts)
        self.assertEqual(dict(zip(numbers, self.run_script(f"arguments[0].map((number) => {call})", numbers))), texts)

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


class Hostile(ReplayPages):
    wanted = ("hostile", "stacks")

    def test_names_do_nothing(self):
        self.show("hostile")
        self.assertEqual(self.run_script("document.querySelectorAll('img, b, #main script').length"), 0)
        for frame in self.driver.find_elements(By.CSS_SELECTOR, ".frame"):
            ActionChains(self.driver).move_to_element(frame).perform()
        self.driver.find_element(By.ID, "flame-search").send_keys("<script>")
        self.assertIn("in 3 places", self.driver.find_element(By.ID, "flame").text)
        self.assertIsNone(self.run_script("window.hostile || null"))
        self.assertEqual(complaints(self.driver), [])

    def test_names_are_shown_as_they_are(self):
        self.show("hostile")
        self.assertIn("<img src=x onerror=hostile=1>.tape", self.run_script("document.querySelector('h1').textContent"))
        self.assertIn("</script><script>hostile=1</script><!--\"'`><img src=x", self.run_script(
            "document.querySelector('[data-node=\"1\"]').textContent"))
        labels = self.run_script("[...document.querySelectorAll('#runs tbody th')].map((cell) => cell.textContent)")
        self.assertEqual(labels, ["<img>", "<b>&amp;"])

    def test_scripts_that_others_put_in_do_not_run(self):
        page = self.pages["stacks"].path
        bad = page.with_name("bad.html")
        bad.write_text(page.read_text().replace(
            '<main id="main">', '<main id="main"><script>hostile = 1</script><img src="x" onerror="hostile = 2">'
            '<a id="link" href="javascript:hostile=3">link</a>'))
        browser.show(self.driver, bad)
        self.driver.find_element(By.ID, "link").click()
        self.assertEqual(self.run_script("document.documentElement.dataset.ready"), "yes")
        self.assertIsNone(self.run_script("window.hostile || null"))
        self.assertTrue(any("Content Security Policy" in one for one in complaints(self.driver)))

    def test_nothing_is_evaluated_or_fetched(self):
        self.show("stacks")
        refused = self.run_script("""(() => { const script = document.createElement('script');
            script.textContent = 'window.hostile = 1'; document.body.append(script);
            return window.hostile || null; })()""")
        self.assertIsNone(refused)
        fetched = self.driver.execute_async_script("""const done = arguments[0];
            fetch('http://127.0.0.1:9/').then(() => done('fetched'), (error) => done('refused'))""")
        self.assertEqual(fetched, "refused")
        self.assertTrue(any("connect-src" in one or "default-src" in one for one in complaints(self.driver)))


if __name__ == "__main__":
    harness.main("page_test")
