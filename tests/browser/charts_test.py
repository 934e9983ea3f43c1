"""Charts of the timeline, on pages of `heaptape replay --html`."""

import math

from . import browser, harness
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait


class Charts(ReplayPages):
    wanted = ("fill", "fill, 20,000 samples")

    def status(self):
        return self.driver.find_element(By.CSS_SELECTOR, "#timeline .tools [role=status]").text

    def plot(self, number=0):
        return self.driver.find_elements(By.CSS_SELECTOR, "#timeline .plot")[number]

    def setUp(self):
        self.show("fill")
        self.driver.execute_script("document.getElementById('timeline').scrollIntoView()")

    def test_have_a_legend_with_the_looks_of_the_lines(self):
        self.show("fill")
        drawn = self.run_script("""(() => { const data = JSON.parse(document.getElementById('data').textContent);
            const keys = [...document.querySelectorAll('#timeline .key line')].map((line) => [line.getAttribute('stroke-dasharray'),
                Number(line.getAttribute('stroke-width'))]);
            return data.runs.map((run, i) => [heaptape.chartLines.lookOf(run, i), keys[i]]); })()""")
        self.assertEqual(len(drawn), 3)
        for look, (dash, width) in drawn:
            self.assertEqual(dash, " ".join(map(str, look["dash"])) if look["dash"] else None)
            self.assertAlmostEqual(width, 2 * look["width"])

    def test_zoom_together(self):
        self.assertTrue(self.status().startswith("the whole run"), self.status())
        ActionChains(self.driver).move_to_element(self.plot()).click_and_hold().move_by_offset(100, 0).release().perform()
        self.assertIn("shown: #", self.status())
        labels = self.run_script("""[...document.querySelectorAll('#timeline .plot')].map((plot) =>
            [...plot.querySelectorAll('.dygraph-axis-label-x')].map((label) => label.textContent).join())""")
        self.assertEqual(len(set(labels)), 1, labels)
        browser.double_click(self.driver, self.plot(1))
        self.assertIn("the whole run", self.status())

    def test_share_a_cursor(self):
        ActionChains(self.driver).move_to_element(self.plot(2)).perform()
        self.assertIn("cursor at #", self.status())
        values = [one.text for one in self.driver.find_elements(By.CSS_SELECTOR, "#timeline .values")]
        for value in values:
            self.assertRegex(value, r"\d")

    def test_obey_the_keyboard(self):
        self.plot().send_keys(Keys.ARROW_RIGHT, "+")
        self.assertIn("cursor at #", self.status())
        self.assertIn("shown: ", self.status())
        self.plot().send_keys(Keys.ESCAPE)
        self.assertIn("the whole run", self.status())

    def test_hide_runs(self):
        ActionChains(self.driver).move_to_element(self.plot()).perform()
        self.assertIn("one", self.driver.find_element(By.CSS_SELECTOR, "#timeline .values").text)
        self.driver.find_element(By.CSS_SELECTOR, "#timeline .key").click()
        ActionChains(self.driver).move_to_element(self.plot()).perform()
        self.assertNotIn("one", self.driver.find_element(By.CSS_SELECTOR, "#timeline .values").text)

    def test_have_all_metrics_on_request(self):
        plots = lambda: len(self.driver.find_elements(By.CSS_SELECTOR, "#timeline .plot"))
        before = plots()
        self.driver.find_element(By.CSS_SELECTOR, "#timeline summary").click()
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: plots() > before)  # browsers tell later that it opened

    def test_say_what_a_long_timeline_leaves_out(self):
        self.show("fill, 20,000 samples")
        self.assertIn("20,000 samples", self.driver.find_element(By.ID, "timeline").text)


# Two runs with lines of their own, noop, and the run itself; their samples are at other calls.
LISTS = {"a": [0, 10, 40, 100], "b": [5, 10, 90], "a ns": [0, 1e9, 4e9, 10e9], "b ns": [5e8, 1e9, 9e9],
         "one": [1, 2, 3, 4], "two": [7000, 5, 6000], "three": [11, 12, 13, 14], "four": [1, 5, 9]}
LINE_A = {"at": "a", "timeNs": "a ns"}
LINE_B = {"at": "b", "timeNs": "b ns"}
SERIES = [
    {
        "metric": "liveBytes",
        "unit": "bytes",
        "runs": [{**LINE_A, "values": "three"}, None, {**LINE_A, "values": "three"}, None],
    },
    {
        "metric": "holes.count",
        "unit": "count",
        "runs": [{**LINE_A, "values": "one"}, {**LINE_B, "values": "two"}, None, None],
    },
    {
        "metric": "residentBytes",
        "unit": "bytes",
        "runs": [
            {**LINE_A, "values": "one"},
            {**LINE_B, "values": "two"},
            {**LINE_A, "values": "three"},
            {**LINE_B, "values": "four"},
        ],
    },
]
MOMENTS = [
    {"name": "end", "at": 100, "timeNs": 10e9},
    {"name": "mark:half", "at": 40, "timeNs": 4e9},
    {"name": "peak", "at": 40, "timeNs": 5e9},
]
VIEW = """const [lists, series, moments] = arguments;
    const place = document.body.appendChild(document.createElement('div'));
    const runs = [['a', 'x'], ['b', 'x'], ['c', 'noop'], ['d', 'recorded']].map(([label, backend]) =>
            ({label, backend}));
    const view = heaptape.charts({runs, moments, timeline: {lists, series, stretches: 0, samples: 4}}, place);
    const key = (key, shiftKey = false) => view.key({key, shiftKey, preventDefault() {}});
    const shown = () => view.charts.map((chart) => [...chart.values.children].map((one) =>
            [...one.children].map((part) => part.textContent).filter(Boolean)));
    """


class Places(ReplayPages):
    """Where lines, ticks and cursors are: every place is computed here once more."""

    wanted = ("random, noop",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        browser.show(cls.driver, cls.pages["random, noop"].path)

    def of_view(self, script, series=SERIES):
        return self.driver.execute_script(VIEW + script, LISTS, series, MOMENTS)

    def test_of_ticks_are_the_fewest_round_numbers_between_the_ends(self):
        def ticks(low, high, most, unit):
            least = max(high - low, 1e-9) / most
            steps = (
                (2.0**k for k in range(64))
                if unit == "bytes"
                else (n * 10.0**k for k in range(0 if unit == "count" else -12, 20) for n in (1, 2, 5))
            )
            step = next(one for one in steps if one >= least * (1 - 1e-12))
            return [k * step for k in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]

        spans = [
            (low, low + size)
            for low in (0, 3, 1000.5, 70_000)
            for size in (0.5, 1, 4, 5, 9, 41, 1000, 1025, 79_999, 3 << 20)
        ]
        found = self.driver.execute_script("""const {countTicks, yTicks, xTicks} = heaptape.chartLines;
            const at = (list) => list.map((tick) => tick.v);
            return arguments[0].map(([low, high]) => [at(countTicks(low, high, 5)), at(yTicks('bytes')(low, high, 120)),
            at(yTicks('count')(low, high, 120)),
                at(xTicks('at', () => 720)(low, high)), at(xTicks('at', () => 100)(low, high)),
            at(xTicks('timeNs', () => 540)(low, high))]);""", spans)
        for (low, high), lists in zip(spans, found):
            below_names = high - (high - low) * 12 / 120  # of moments, at the top
            wanted = [
                ticks(low, high, 5, "count"),
                ticks(low, below_names, 4, "bytes"),
                ticks(low, below_names, 4, "count"),
                ticks(low, high, 8, "count"),
                ticks(low, high, 4, "count"),
                ticks(low, high, 6, "ratio"),
            ]
            for one, other in zip(lists, wanted):
                self.assertEqual(len(one), len(other), (low, high, one, other))
                for place, expected in zip(one, other):
                    self.assertAlmostEqual(place, expected, delta=1e-6, msg=(low, high))

    def test_have_ticks_with_labels_of_their_own(self):
        spans = [(low, low * part + size) for low in (0, 1, 999, 1023, 1_500_000, 3 << 20, 12_345_678, 7 << 33) for part in (1, 1.0001, 1.01, 2)
                 for size in (1, 3, 10, 1000, 4096, 1 << 20, 3 << 31)]
        labels = self.run_script("""arguments[0].map(([low, high]) => { const {countTicks, yTicks, xTicks} = heaptape.chartLines;
            return [countTicks(low, high, 8), ...['bytes', 'count', 'ratio', 'ns'].map((unit) => yTicks(unit)(low, high, 150)),
                ...['at', 'timeNs'].map((axis) => xTicks(axis, () => 700)(low, high))].map((list) => list.map((tick) => tick.label)); })""", spans)
        for span, lists in zip(spans, labels):
            for texts in lists:
                self.assertEqual(len(set(texts)), len(texts), (span, texts))

    def test_of_lines_are_those_of_their_samples(self):
        rows, names, lines = self.of_view("""return [view.charts.map((chart) => chart.rows),
            view.charts.map((chart) => chart.title()),
            view.charts.map((chart) => chart.lines.map((one) => [one.run, Boolean(one.ofAll)]))];""")
        self.assertEqual(names, ["Resident memory", "Live: as requested by the program"])
        self.assertEqual(
            rows,
            [
                [[0, 1, None], [5, None, 7000], [10, 2, 5], [40, 3, None], [90, None, 6000], [100, 4, None]],
                [[0, 11], [10, 12], [40, 13], [100, 14]],
            ],
        )
        # noop has no memory, and the run itself a chart of its own.
        self.assertEqual(lines, [[[0, False], [1, False]], [[0, True]]])

    def test_of_lines_are_one_for_all_runs_where_values_and_calls_are_the_same(self):
        a, other_calls, other_values = {"at": "a", "values": "one"}, {"at": "b", "values": "one"}, {"at": "a", "values": "two"}
        found = self.driver.execute_script("""return arguments[0].map((runs) =>
            heaptape.chartLines.linesOf({runs}).map((one) => [one.run, Boolean(one.ofAll)]));""",
            [[a, a], [None, a, a], [a, other_calls], [a, other_values], [a, a, other_calls], [a], [None], []])
        self.assertEqual(found, [
            [[0, True]], [[1, True]], [[0, False], [1, False]], [[0, False], [1, False]],
            [[0, False], [1, False], [2, False]], [[0, False]], [], [],
        ])

    def test_of_the_run_itself_are_in_a_chart_of_their_own_where_others_are_resident(self):
        apart, alone = [
            self.of_view(
                """document.body.lastChild.querySelector('details').dispatchEvent(new Event('toggle'));
            return view.charts.map((chart) => [chart.title(), chart.lines.map((one) =>
            one.run)]);""",
                [SERIES[1], {**SERIES[2], "runs": runs}],
            )
            for runs in (SERIES[2]["runs"], [None, None, None, SERIES[2]["runs"][3]])
        ]
        self.assertEqual(
            apart, [["Resident memory", [0, 1]], ["Resident memory of the recorded process", [3]], ["Holes", [0, 1]]]
        )
        self.assertEqual(alone, [["Resident memory", [3]], ["Holes", [0, 1]]])

    def test_of_the_cursor_show_the_closest_sample(self):
        places = [-3, 0, 2, 3, 7, 8, 24, 26, 64, 66, 94, 96, 300]
        shown = self.of_view(f"""return {places}.map((x) => {{
            view.moveCursor(x); return [view.cursor, shown(), view.status.textContent]; }});""")
        rows = {
            0: ["1 B", None],
            5: [None, "6.84 KiB"],
            10: ["2 B", "5 B"],
            40: ["3 B", None],
            90: [None, "5.86 KiB"],
            100: ["4 B", None],
        }
        live = {0: "11 B", 10: "12 B", 40: "13 B", 100: "14 B"}
        closest = lambda at, x: min(at, key=lambda one: abs(one - x))
        for x, (cursor, [resident, of_all], status) in zip(places, shown):
            self.assertEqual(cursor, x)
            self.assertEqual(resident, [[name, text] for name, text in zip("ab", rows[closest(rows, x)]) if text])
            self.assertEqual(of_all, [["all runs", live[closest(live, x)]]])
            self.assertEqual(status, f"cursor at #{x}; the whole run: #0 to #100")

    def test_of_a_zoom_are_those_of_all_charts_and_within_the_run(self):
        zooms = self.of_view("""const seen = []; const see = () => { seen.push([view.range,
            ...view.charts.map((chart) => chart.graph.xAxisRange().map(Math.round))]); };
            view.zoomTo([20, 60]); see(); view.moveCursor(30); view.zoomBy(0.5); see(); view.zoomBy(2); see();
            view.zoomBy(2); see(); key('+'); see(); key('-'); see();
            view.zoomTo([-50, 60]); see(); view.zoomTo([70, 500]); see(); view.zoomTo([-1, 101]); see();
            view.moveCursor(null); view.zoomBy(0.5); see();
            key('Escape'); see(); return seen;""")
        wanted = [[20, 60], [25, 45], [20, 60], [10, 90], [20, 60], [10, 90], [0, 60], [70, 100], None, [25, 75], None]
        for one, expected in zip(zooms, wanted, strict=True):
            self.assertEqual(one[0], expected)
            self.assertEqual(len(one), 3)
            for shown in one[1:]:
                if expected:
                    self.assertEqual(shown, expected)
                else:
                    self.assertLessEqual(shown[0], 0)
                    self.assertGreaterEqual(shown[1], 100)

    def test_of_the_cursor_move_by_steps_of_what_is_shown(self):
        cursors, told = self.of_view("""const seen = []; const told = []; view.onCursor = (x) => told.push(x);
            const press = (...all) => { key(...all); seen.push(view.cursor); };
            press('ArrowRight'); press('ArrowRight', true); press('ArrowLeft'); press('ArrowLeft', true);
            press('ArrowLeft', true);
            view.zoomTo([20, 60]); view.moveCursor(59.8); press('ArrowRight'); press('ArrowRight');
            press('ArrowLeft', true); view.moveCursor(null); press('ArrowLeft');
            press('x'); return [seen, told];""")
        wanted = [1, 11, 10, 0, 0, 60, 60, 56, 20, 20]
        for cursor, expected in zip(cursors, wanted, strict=True):
            self.assertAlmostEqual(cursor, expected)
        self.assertEqual(len(told), 11)  # the map follows each

    def test_over_seconds_are_those_of_their_times(self):
        rows, hidden, before, after, moments, told = self.of_view("""const told = []; view.zoomTo([20, 60]);
            view.moveCursor(30); document.body.lastChild.querySelector('.key').click(); view.moveCursor(30);
            view.onCursor = (x) => told.push(x); view.restart('timeNs');
            const before = view.status.textContent; view.moveCursor(2.5);
            return [view.charts[0].rows, view.charts[0].graph.visibility(), before, view.status.textContent,
                view.moments(), told];""")
        self.assertEqual([row[0] for row in rows], [0, 0.5, 1, 4, 9, 10])
        self.assertEqual(hidden, [False, True])
        self.assertEqual((before, after), ("the whole run: 0 s to 10 s", "cursor at 2.5 s; the whole run: 0 s to 10 s"))
        self.assertEqual(moments, [{"x": 4, "text": "half"}, {"x": 5, "text": "peak"}, {"x": 10, "text": "end"}])
        self.assertEqual(told, [])  # the map knows calls only

    def test_of_moments_are_lines_with_names_that_do_not_overlap(self):
        lines, names, moments = self.of_view("""const lines = [], names = []; let letter = 10;
            const context = {save() {}, restore() {}, beginPath() {}, stroke() {}, setLineDash() {},
            measureText: (text) => ({width: letter * text.length}),
                             moveTo: (x, y) => lines.push([x, y]), lineTo: (x, y) => lines.push([x, y]),
            fillText: (...all) => names.push(all)};
            const graph = {toDomXCoord: (x) => 50 + 2 * x};
            view.charts[0].drawMoments(context, {x: 50, y: 3, w: 200, h: 80}, graph);
            view.charts[0].drawMoments(context, {x: 140, y: 3, w: 100, h: 80}, graph);
            letter = 4;
            view.charts[0].drawMoments(context, {x: 50, y: 3, w: 215, h: 80}, graph);
            return [lines, names, view.moments()];""")
        self.assertEqual(moments, [{"x": 40, "text": "half, peak"}, {"x": 100, "text": "end"}])
        self.assertEqual(lines, [[130, 3], [130, 83], [250, 3], [250, 83]] * 2)  # in the second area there is none
        # Where letters are wide, "end" has no room; else it is left of its line.
        self.assertEqual(names, [["half, peak", 133, 12], ["half, peak", 133, 12], ["end", 235, 12]])

    def test_hide_and_show_runs(self):
        shown = self.of_view("""const keys = [...document.body.lastChild.querySelectorAll('.key')];
            const see = () => [view.charts.map((chart) => chart.graph.visibility()), shown()[0].map(([name]) =>
            name), keys.map((one) => one.getAttribute('aria-pressed'))];
            const seen = []; for (const at of [0, 1, 0]) { keys[at].click(); view.moveCursor(10); seen.push(see());
            } return seen;""")
        self.assertEqual(shown, [[[[False, True], [True]], ["b"], ["false", "true", "true", "true"]],
                                 [[[False, False], [True]], [], ["false", "false", "true", "true"]],
                                 [[[True, False], [True]], ["a"], ["true", "false", "true", "true"]]])

    def test_have_looks_that_tell_runs_apart(self):
        looks, pairs = self.run_script("""[[...Array(40).keys()].map((i) => heaptape.chartLines.lookOf({}, i)),
            [0, 1, 9].flatMap((pair) => [true, false].map((isBase) => heaptape.chartLines.lookOf({pair, isBase},
            7)))]""")
        self.assertEqual(len({str(look) for look in looks}), 40)
        self.assertEqual([look["colour"] for look in looks], [f"run-{i % 8}" for i in range(40)])
        self.assertEqual([look["colour"] for look in pairs], ["run-0", "run-0", "run-1", "run-1", "run-1", "run-1"])
        self.assertEqual([bool(look["dash"]) for look in pairs], [True, False] * 3)

    def test_have_looks_that_tell_kinds_of_runs_apart_without_colours(self):
        kinds = self.run_script("""['recorded', 'glibc', 'model:ptmalloc', 'plugin:./libx.so'].map((backend) =>
            [...Array(40).keys()].map((i) => heaptape.chartLines.lookOf({backend}, i)).map(({dash, width}) => [dash, width]))""")
        recorded, native, model, plugin = [{str(look) for look in looks} for looks in kinds]
        self.assertEqual(model, plugin)
        self.assertEqual(len(recorded), 1)
        self.assertFalse(recorded & native or recorded & model or native & model)


if __name__ == "__main__":
    harness.main("charts_test")
