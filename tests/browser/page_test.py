"""What `heaptape replay --html` writes, in a browser: the page as a whole, its figures, hostile names."""

import base64
import json
import random

from . import browser, harness
from .harness import complaints, figure, heaptape
from .page_numbers import TEXTS, short_text
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

    def test_begins_with_the_verdict_of_the_report(self):
        for name in self.pages:
            self.show(name)
            shown, verdict = self.run_script("""[[document.getElementById('verdict').textContent,
                ...[...document.querySelectorAll('#findings li')].map((one) => [one.dataset.kind, one.textContent])],
                JSON.parse(document.getElementById('data').textContent).verdict]""")
            findings = [[one["kind"], one["evidence"] + one["action"].replace("`", "")] for one in verdict["findings"]]
            self.assertGreater(len(findings), 0)
            self.assertEqual(shown, [verdict["headline"], *findings])

    def test_puts_commands_of_findings_into_code(self):
        self.show("fill")
        made = self.run_script("""heaptape.summary.head({tape: {events: 1, lacks: ''}, runs: [], verdict:
            {headline: 'v', moment: '', findings: [{kind: 'holes', evidence: 'it is <b>so', action: 'a `b <i>` c'},
                                                   {kind: 'live', evidence: 'and so', action: ''}]}})
            .find((one) => one.id === 'findings').innerHTML""")
        self.assertEqual(made, '<li data-kind="holes"><div class="evidence">it is &lt;b&gt;so</div><div class="action">a '
                               '<code>b &lt;i&gt;</code> c</div></li><li data-kind="live"><div class="evidence">and so</div></li>')

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
            self.assertEqual("as sampled nearest to the moment" in note, is_said, name)

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

    def test_are_marked_where_the_verdict_calls_a_run_better(self):
        self.show("fill")
        best = self.run_script("JSON.parse(document.getElementById('data').textContent).best")
        marked = self.run_script("""[...document.querySelectorAll('#runs td.best')].map((cell) => [
            cell.closest('tr').querySelector('th').textContent, cell.dataset.metric])""")
        self.assertEqual(sorted(marked), sorted([one["label"], one["state"] + ".residentBytes"] for one in best))

    def test_of_the_account_have_bars_in_proportion(self):
        self.show("fill")
        rows = [{"label": "a", "liveBytes": 300, "account.holeBytes": 100},
                {"label": "b", "liveBytes": 200, "account.unexplainedBytes": -50, "account.untouchedBytes": 40, "account.returnedBytes": 7},
                {"label": "c", "backend": "recorded", "liveBytes": 100}]
        shown = self.run_script("""((rows) => {
            const made = heaptape.summary.account({accounts: [{moment: 'peak', state: 'atPeak', rows}],
                best: [{state: 'atPeak', label: 'b'}, {state: 'atPlateau', label: 'a'}], verdict: {moment: 'peak'},
                moments: [{name: 'peak', at: 1}], accountTable: {rows: [], columns: []}});
            const bars = [...made.querySelectorAll('.bar')].map((bar) => [...bar.children].map((part) => part.style.width));
            return [bars, [...made.querySelectorAll('.sum')].map((sum) => sum.textContent)];
        })(arguments[0])""", rows)
        self.assertEqual(shown, [[["75%", "25%"], ["50%"], ["25%"]],
                                 ["400 B resident", "160 B resident ◂ less + 40 B live, never touched + 7 B given back", "100 B in its heap"]])

    def test_of_the_account_say_who_holds_less_at_the_moment_that_is_chosen(self):
        self.show("fill")
        least = self.run_script("""(() => { const rows = [{label: 'a', liveBytes: 3}, {label: 'b', liveBytes: 2}];
            const made = heaptape.summary.account({accounts: [{moment: 'peak', state: 'atPeak', rows}, {moment: 'end', state: 'end', rows}],
                best: [{state: 'atPeak', label: 'b'}], verdict: {moment: ''}, moments: [{name: 'peak', at: 1}, {name: 'end', at: 2}],
                accountTable: {rows: [], columns: []}});
            return [1, 0].map((i) => {
                made.querySelectorAll('.tools button')[i].click();
                return [...made.querySelectorAll('.least')].map((least) => least.parentElement.textContent);
            }); })()""")
        self.assertEqual(least, [[], ["2 B resident ◂ less"]])

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


class Given(ReplayPages):
    """As base/number_text.cc writes them, and its tests; then the first screen for data that is given here."""

    wanted = ("stacks",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        browser.show(cls.driver, cls.pages["stacks"].path)

    def expect(self, call, texts):
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

    def test_of_any_size_are_written_as_here(self):
        choose = random.Random(11)
        sizes = sorted(
            {2**k + d for k in range(50) for d in (-1, 0, 1)}
            | {10**k + d for k in range(16) for d in (-1, 0, 1)}
            | {choose.randrange(2**k) for k in range(1, 53) for _ in range(4)} - {-1}
        )
        parts = [0, 1, 0.0004, 0.0005, 0.00049, 0.5, 0.03125, 1.53125] + [choose.random() for _ in range(100)]
        numbers = {unit: parts if unit in ("ratio", "share", "percent") else sizes for unit in TEXTS}
        texts = self.run_script("""Object.fromEntries(Object.entries(arguments[0]).map(([unit, all]) =>
            [unit, all.map((one) => heaptape.value(one, unit))]))""", numbers)
        short, short_bytes, exact = self.run_script("""[(one) => heaptape.short(one), (one) => heaptape.shortBytes(one), (one) =>
            heaptape.exact(one, 'bytes')]
            .map((text) => [...arguments[0], ...arguments[0].map((one) => -one)].map(text))""", sizes)
        for unit, all_numbers in numbers.items():
            self.assertEqual(dict(zip(all_numbers, texts[unit])), {one: TEXTS[unit](one) for one in all_numbers}, unit)
        both = sizes + [-one for one in sizes]
        self.assertEqual(short, [short_text(one, 1000, ["", "k", "M", "G", "T"]) for one in both])
        self.assertEqual(
            short_bytes,
            ["0" if one == 0 else short_text(one, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]) for one in both],
        )
        self.assertEqual(exact, [f"{one:,} B" for one in both])

    def test_of_one_thing_have_its_word(self):
        self.assertEqual(self.run_script("""[0, 1, '1', 2, 1000, '18446744073709551615'].map((one) =>
            heaptape.counted(one, 'hole'))"""),
                         ["0 holes", "1 hole", "1 hole", "2 holes", "1,000 holes", "18,446,744,073,709,551,615 holes"])

    def test_of_letters_that_a_long_name_keeps_are_equal_on_both_sides(self):
        names = [
            "".join(chr((0x100, 0x1F600)[i % 2] + i) for i in range(length)) for length in (1, 47, 48, 49, 50, 51, 300)
        ]
        self.assertEqual(
            self.run_script("arguments[0].map((name) => heaptape.named(name))", names),
            [
                {"text": name} if len(name) <= 48 else {"text": name[:23] + "…" + name[-23:], "title": name}
                for name in names
            ],
        )

    def test_stay_beside_their_units(self):
        pieces = self.run_script("""heaptape.prose('a 1.5 KiB of 3 ms, 1,024 B and 5 Bad 7 TiB.').map((one) =>
            [one.textContent, one.className ?? null])""")
        self.assertEqual([text for text, kind in pieces if kind == "unbroken"], ["1.5 KiB", "3 ms", "1,024 B", "7 TiB"])
        self.assertEqual("".join(text for text, _ in pieces), "a 1.5 KiB of 3 ms, 1,024 B and 5 Bad 7 TiB.")

    def test_has_its_parts_in_their_order(self):
        self.assertEqual(
            self.run_script("[...document.querySelectorAll('section')].map((one) => one.id)"),
            [
                "account",
                "runs",
                "timeline",
                "map",
                "flame",
                "sizes",
                "lifetimes",
                "buffers",
                "holes",
                "heap-growths",
                "curves",
                "counters",
                "fidelity",
                "lines", "terms",
            ],
        )

    def test_says_what_the_tape_is(self):
        whole = {
            "path": "t",
            "lacks": "",
            "events": 12345,
            "threads": 2,
            "durationNs": "1500000",
            "recordedAt": "2026-11-27T10:11:12Z",
            "isFinished": True,
        }
        facts = self.run_script(
            """arguments[0].map((tape) => heaptape.summary.head({tape, runs: [],
            verdict: {headline: 'v', moment: '', findings: []}})[1].textContent)""",
            [
                whole,
                {**whole, "threads": 1, "durationNs": 0, "recordedAt": ""},
                {**whole, "importedFrom": "mtrace", "lacks": "times, threads"},
            ],
        )
        self.assertEqual(
            facts,
            [
                "12,345 events · 2 threads · ran 1.50 ms · recorded 2026-11-27 10:11:12 UTC",
                "12,345 events · 1 thread",
                "12,345 events · imported from mtrace · ran 1.50 ms · recorded 2026-11-27 10:11:12 UTC",
            ],
        )

    def test_begins_with_the_moment_of_the_verdict_or_the_plateau_and_joins_moments_of_one_call(self):
        def choices(told="", **moments):
            accounts = [
                {"moment": name.replace("_", ":"), "state": name, "rows": [{"label": "a", "liveBytes": 1}]}
                for name in moments
            ]
            return self.run_script(
                """(() => { const [accounts, moments, moment] = arguments;
                const made = heaptape.summary.account({accounts, moments, best: [], verdict: {moment}, accountTable: {rows: [],
                columns: []}});
                const buttons = [...made.querySelectorAll('.tools button')];
                return [buttons.map((one) => one.textContent), buttons.findIndex((one) =>
                one.getAttribute('aria-pressed') === 'true'), made.querySelector('.account').dataset.state];
                })(...arguments)""",
                accounts,
                [{"name": name.replace("_", ":"), "at": at} for name, at in moments.items()],
                told,
            )

        self.assertEqual(
            choices(peak=1, plateau=2, exit=3, end=4),
            [["at the peak", "at the plateau", "at the exit", "at the end"], 1, "plateau"],
        )
        self.assertEqual(
            choices(peak=1, exit=3, mark_x=2, end=3), [["at the peak", "at the exit, at the end", "mark x"], 1, "exit"]
        )
        self.assertEqual(choices("peak", peak=1, plateau=2)[1], 0)
        self.assertEqual(choices(mark_x=2, end=3, peak=1), [["mark x", "at the end", "at the peak"], 2, "peak"])

    def test_says_what_was_never_touched_from_a_hundredth_on(self):
        rows = [
            {"label": str(i), "liveBytes": 1000, "account.untouchedBytes": untouched}
            for i, untouched in enumerate((9, 10, 11))
        ]
        rows.append({"label": "both", "liveBytes": 300, "account.cachedBytes": 100, "account.unexplainedBytes": -7})
        sums, words, legend = self.run_script("""((made) => [[...made.querySelectorAll('.sum')].map((one) =>
            one.textContent), [...made.querySelectorAll('.bar')].pop().getAttribute('aria-label'),
            [...heaptape.summary.legend([{rows: arguments[0]}]).children].map((one) =>
            one.textContent)])(heaptape.summary.bars({state: 'end', rows: arguments[0]}))""", rows)
        self.assertEqual(
            sums,
            [
                "991 B resident",
                "990 B resident + 10 B live, never touched",
                "989 B resident + 11 B live, never touched",
                "400 B resident",
            ],
        )
        self.assertEqual(words, "both: live 300 B (75.0%), cached for reuse 100 B (25.0%), unexplained -7 B (<0.1%)")
        self.assertEqual(legend, ["live", "cached for reuse", "unexplained"])

    def test_groups_adjacent_columns_and_marks_the_least(self):
        columns = [
            {"group": group, "name": name, "metric": f"{group}.residentBytes", "unit": "bytes"}
            for group, name in (("a", "1"), ("a", "2"), ("b", "3"), ("a", "4"))
        ]
        spans, classes, titles = self.run_script("""(([columns]) => { const made = heaptape.summary.table({columns,
            rows: [{label: 'x', cells: ['1', '2', '-', '4'], values: [1, 2, null, 4]},
                {label: 'y', cells: ['5', '6', '7', '8'], values: [5, 6, 7, 8000]}]},
            {best: [{state: 'b', label: 'y'}]});
            return [[...made.querySelectorAll('.group')].map((one) => [one.textContent, one.colSpan]),
            [...made.querySelectorAll('td.best, td.may-be-best')].map((one) => [one.className, one.textContent]),
                [...made.querySelectorAll('tbody td')].map((one) => one.title)]; })(arguments)""", columns)
        self.assertEqual(spans, [["a", 2], ["b", 1], ["a", 1]])
        self.assertEqual(classes, [["may-be-best", "-"], ["best", "7"]])
        self.assertEqual(titles, ["1 B", "2 B", "", "4 B", "5 B", "6 B", "7 B", "8,000 B"])


class Paper(ReplayPages):
    """As wide as A4 between Chromium's margins."""

    wanted = ("fill", "process, replayed", "long names", "stacks")
    WIDTH = 718

    def print(self, path):
        browser.show(self.driver, path, width=self.WIDTH, height=1000)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.driver.execute_script("dispatchEvent(new Event('beforeprint'))")

    def test_has_all_columns(self):
        diff = self.folder / "diff.html"
        explained = self.folder / "explain.html"
        heaptape("explain", self.folder / "stacks.tape", "-a", "model:ptmalloc", "--at", "peak", "--html", explained)
        heaptape("diff", self.folder / "long names.json", self.folder / "long names.json", "--html", diff)
        for path in (*(made.path for made in self.pages.values()), explained, diff):
            self.print(path)
            self.assertEqual(self.run_script("document.documentElement.scrollWidth"), self.WIDTH, path)
            wide = self.run_script("""[...document.querySelectorAll('td, th')].filter((cell) => cell.offsetWidth &&
                cell.getBoundingClientRect().right > arguments[0]).map((cell) => cell.closest('section').id + ': ' + cell.textContent)""", self.WIDTH)
            self.assertEqual(wide, [], path)
            clipped = self.run_script("""[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth &&
                getComputedStyle(box).overflowX !== 'visible').map((box) => box.getAttribute('aria-label'))""")
            self.assertEqual(clipped, [], path)

    def test_has_room_for_its_pages(self):
        self.print(self.pages["fill"].path)
        made = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        self.assertTrue(base64.b64decode(made["data"]).startswith(b"%PDF-"))


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
