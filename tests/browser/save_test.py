"""Pictures that a page saves, and text that it copies: read back, and compared with the figures of the report."""
from . import browser, harness, small_png
from .flame_graph import FlameGraph
from .harness import at_path
from .replay_pages import ReplayPages

if not browser.missing():
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

SCALE, MARGIN, TITLE = 2, 8, 24  # picture.js


class Saved(FlameGraph, ReplayPages):
    def setUp(self):
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(self.folder)})

    def saved(self, button, name):
        """The pixels of the PNG behind a button: lines of (red, green, blue)."""
        path = self.folder / f"heaptape-{name}.png"
        path.unlink(missing_ok=True)
        button.send_keys(Keys.ENTER)
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: path.exists() and path.stat().st_size > 0)
        return small_png.pixels(path.read_bytes())[1]

    def colour(self, element, property="backgroundColor"):
        text = self.run_script("getComputedStyle(arguments[0])[arguments[1]]", element, property)
        return tuple(int(part) for part in text[text.index("(") + 1:-1].split(",")[:3])

    def runs(self, line, colour):
        """Where a line of pixels has a color first and last, in the page's pixels."""
        places = [x for x, one in enumerate(line) if max(abs(a - b) for a, b in zip(one, colour)) <= 2]
        return (places[0] / SCALE, (places[-1] + 1) / SCALE) if places else None


class Pictures(Saved):
    wanted = ("stacks", "fill")

    def test_of_a_flame_graph_has_its_boxes(self):
        self.show("stacks")
        lines = self.saved(self.driver.find_element(By.CSS_SELECTOR, "#flame .save[aria-label*=flame]"), "flame-graph")
        rows = self.driver.find_element(By.CSS_SELECTOR, ".flame .rows")
        self.assertAlmostEqual(len(lines[0]), SCALE * (rows.rect["width"] + 2 * MARGIN), delta=2 * SCALE)
        for name, value in self.values().items():
            box = self.box(name)
            line = lines[round(SCALE * (TITLE + box.rect["y"] - rows.rect["y"] + 3))]  # above its text
            left = MARGIN + box.rect["x"] - rows.rect["x"]
            right = left + rows.rect["width"] * value / 407
            places = (left - 1, left + 2, (left + right) / 2, right - 2, right)
            colour = self.colour(box)
            near = [max(abs(a - b) for a, b in zip(line[round(SCALE * x)], colour)) <= 2 for x in places]
            self.assertEqual(near, [False, True, True, True, False], name)

    def test_of_a_flame_graph_has_all_of_a_deep_one(self):
        self.show("stacks")
        self.driver.execute_script("document.querySelector('.flame').style.maxHeight = '2rem'; document.querySelector('.flame').scrollTop = 10")
        lines = self.saved(self.driver.find_element(By.CSS_SELECTOR, "#flame .save[aria-label*=flame]"), "flame-graph")
        rows = self.driver.find_element(By.CSS_SELECTOR, ".flame .rows")
        lowest = max(self.run_script("[...document.querySelectorAll('.frame')].map((box) => box.offsetTop)"))
        self.assertTrue(self.runs(lines[SCALE * (TITLE + lowest + 3)], self.colour(self.box("lex"))))
        self.assertGreater(len(lines), SCALE * (TITLE + rows.rect["height"]))

    def test_of_a_chart_has_its_lines(self):
        self.show("fill")
        chart = self.driver.find_element(By.CSS_SELECTOR, "figure[data-metric=residentBytes], figure[data-metric=committedBytes]")
        button = chart.find_element(By.CSS_SELECTOR, ".save")
        name = "-".join(button.get_attribute("aria-label").removeprefix("Save ").removesuffix(" as a PNG").replace(":", " ").replace(",", " ").split())
        lines = self.saved(button, name)
        self.assertAlmostEqual(len(lines[0]), SCALE * (chart.rect["width"] + 2 * MARGIN), delta=SCALE)
        plot = chart.find_element(By.CSS_SELECTOR, ".plot")
        origin = (MARGIN + plot.rect["x"] - chart.rect["x"], TITLE + plot.rect["y"] - chart.rect["y"])
        shown = [one for one in self.sample(chart.find_element(By.TAG_NAME, "canvas"), 120_000) if one[2][3] > 250]
        self.assertGreater(len(shown), 50)
        inked = [max(abs(a - b) for a, b in zip(self.at(lines, origin, x, y), colour)) < 90 for x, y, colour in shown]
        self.assertGreater(sum(inked), 0.9 * len(shown))

    def sample(self, canvas, count):
        """[x, y, colour] of places on it, in the page's pixels."""
        return self.run_script("""((canvas, count) => { const {data, width, height} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const all = [];
            for (let i = 0; i < count; ++i) { const x = (i * 7919) % width, y = (i * 104729 + i) % height, at = 4 * (y * width + x);
                all.push([x * canvas.offsetWidth / width, y * canvas.offsetHeight / height, [...data.slice(at, at + 4)]]); }
            return all; })(arguments[0], arguments[1])""", canvas, count)

    def at(self, lines, origin, x, y):
        return lines[round(SCALE * (origin[1] + y) + 0.5)][round(SCALE * (origin[0] + x) + 0.5)]

    def test_of_the_heap_has_its_colours(self):
        self.show("fill")
        self.driver.execute_script("document.getElementById('map').scrollIntoView()")
        WebDriverWait(self.driver, browser.PATIENCE).until(lambda _: self.run_script("document.getElementById('map').dataset.ready === 'yes'"))
        lines = self.saved(self.driver.find_element(By.CSS_SELECTOR, "#map .save"), "heap")
        shown = [one for one in self.sample(self.driver.find_element(By.CSS_SELECTOR, "canvas.map"), 1000) if one[2][3] == 255]
        self.assertGreater(len(shown), 100)
        same = [max(abs(a - b) for a, b in zip(self.at(lines, (MARGIN, TITLE), x, y), colour)) < 13 for x, y, colour in shown]
        self.assertGreater(sum(same), 0.9 * len(shown))  # marks lie above some

    def test_of_an_account_has_the_parts(self):
        self.show("fill")
        lines = self.saved(self.driver.find_element(By.CSS_SELECTOR, "#account .save[aria-label*=account]"), "account")
        legend = self.driver.find_element(By.CSS_SELECTOR, "#account .legend")
        account = self.driver.find_element(By.CSS_SELECTOR, "#account .account")
        top = TITLE + legend.rect["height"] + MARGIN
        parts = [one for one in self.driver.find_elements(By.CSS_SELECTOR, "#account .bar .part") if one.rect["width"] > 8]
        self.assertGreater(len(parts), 2)
        for part in parts:
            line = lines[round(SCALE * (top + part.rect["y"] + 2 - account.rect["y"]))]
            left, right = self.runs(line, self.colour(part))
            self.assertLess(abs(left - (MARGIN + part.rect["x"] - account.rect["x"])), 3)
            self.assertLess(abs((right - left) - part.rect["width"]), 4)


class Copied(Saved):
    wanted = ("stacks", "fill", "hostile")

    def copied(self, button):
        """What a paste then gives, as a person would see it."""
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.send_keys(Keys.ENTER)
        WebDriverWait(self.driver, browser.PATIENCE).until(
            lambda _: self.run_script("document.getElementById('said').textContent") == "copied")
        self.driver.execute_script("const area = document.createElement('textarea'); area.id = 'pasted'; document.body.append(area); area.focus()")
        area = self.driver.find_element(By.ID, "pasted")
        area.send_keys(Keys.CONTROL, "v")
        text = area.get_property("value")
        self.driver.execute_script("arguments[0].remove()", area)
        return text

    def table(self, section):
        return [line.split("\t") for line in self.copied(self.driver.find_element(By.CSS_SELECTOR, f"{section} .copying button:not([aria-label])")).splitlines()]

    def test_verdict_is_that_of_the_report(self):
        self.show("stacks")
        verdict = self.pages["stacks"].report["verdict"]
        text = self.copied(self.driver.find_element(By.CSS_SELECTOR, "#head .copying button"))
        self.assertTrue(text.startswith(verdict["headline"] + "\n1. " + verdict["findings"][0]["evidence"] + "\n"), text)

    def test_runs_have_exact_figures(self):
        self.show("fill")
        head, *rows = self.table("#runs")
        columns = self.run_script("JSON.parse(document.getElementById('data').textContent).overview.columns")
        self.assertEqual(head, ["run", *(f"{one['group']} {one['name']}" + (f" ({one['unit']})" if one["unit"] in ("bytes", "ns") else "") for one in columns)])
        for row, one in zip(rows, self.pages["fill"].report["runs"], strict=True):
            self.assertEqual((row[0], len(row)), (one["label"], len(head)))
            for column, text in zip(columns, row[1:]):
                wanted = harness.figure(one, column["metric"])
                if wanted is not None:
                    self.assertAlmostEqual(float(text), wanted, delta=abs(wanted) * 1e-6, msg=column["metric"])

    def test_sites_have_whole_names_and_exact_figures(self):
        self.show("stacks")
        self.driver.find_element(By.ID, "site-filter").send_keys("lex")
        head, row = self.table("#flame .tops")
        self.assertEqual(head[:2], ["call site", "bytes at the peak (bytes)"])
        self.assertEqual(row[:2], ["lex (lex.h:3) app", str(at_path(self.pages["stacks"].report, "tape.sites.list.0.totals.peakBytes"))])

    def test_all_tables_have_as_many_fields_in_each_row(self):
        for name in self.wanted:
            self.show(name)
            texts = self.run_script("[...document.querySelectorAll('.scroll table')].map(heaptape.copying.tableText)")
            self.assertGreater(len(texts), 3)
            for text in texts:
                self.assertEqual(len({line.count("\t") for line in text.split("\n")[:-1]}), 1, text)

    def test_names_are_no_formulas(self):
        self.show("stacks")
        fields = {"=1+1": "'=1+1", "+x": "'+x", "@sum": "'@sum", "-x()": "'-x()", "-5": "-5", "-1.5e-7": "-1.5e-7", "a\tb\nc": "a b c", "x=1": "x=1", "-": "'-"}
        for text, wanted in fields.items():
            found = self.run_script("""((text) => { const {element} = heaptape; return heaptape.copying.tableText(element('table', {},
                element('thead', {}, element('tr', {}, element('th', {text: 'h'}))), element('tbody', {}, element('tr', {}, element('td', {text}))))); })(arguments[0])""", text)
            self.assertEqual(found, f"h\n{wanted}\n")


if __name__ == "__main__":
    harness.main("save_test")
