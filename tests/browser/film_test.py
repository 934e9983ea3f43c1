"""How the page reads, tells and draws a film of which all is known. On pages of recordings: heap_map_test.py."""

import base64
import gzip
import json
import random
import subprocess

from . import browser, harness
from .harness import Made, Pages

# As film_data.h says: two frames of four cells, of which the upper two lie elsewhere.
FRAMES = {
    "live": [[31, 0, 0, 0], [31, 31, 31, 0]],
    "freeResident": [[0, 31, 0, 0], [0, 0, 0, 31]],
    "freeAbsent": [[0, 0, 31, 0], [0, 0, 0, 0]],
    "birth": [[1, 0, 0, 0], [1, 25, 23, 0]],  # of 255: #4, #98 and #90
    "size": [[24, 0, 0, 0], [24, 40, 80, 0]],
    "site": [[2, 0, 0, 0], [2, 1, 0, 0]],
}
SUMS = {"live": [4000, 12_000], "blocks": [4096, 12_288], "freeResident": [4096, 2048], "freeAbsent": [4096, 0]}
ITEMS = {"begin": ["1000", "a000"], "bytes": [4096, 2048], "birth": [4, 0], "asked": [4000, 0], "first": [0, 1], "last": [1, 1]}


def pack(content):
    return base64.b64encode(gzip.compress(content)).decode()


class OnePage(Pages):
    @classmethod
    def make(cls):
        subprocess.run([harness.MAKE_TAPES, cls.folder], check=True, timeout=browser.PATIENCE)
        cls.page = Made(cls.folder, "stacks", cls.folder / "stacks.tape", "-a", "model:ptmalloc")


    def colours_of(self, *names):
        return self.run_script("""arguments[0].map((name) => { const paper = document.createElement('canvas').getContext('2d');
            paper.fillStyle = heaptape.colour(name); paper.fillRect(0, 0, 1, 1); return [...paper.getImageData(0, 0, 1, 1).data]; })""", names)


class Film(OnePage):
    def setUp(self):
        browser.show(self.driver, self.page.path)
        planes = bytes(byte for first, second in FRAMES.values() for byte in first + [a ^ b for a, b in zip(first, second)])
        film = {"label": "one", "events": 1000, "cellBytes": 4096, "knowsAbsent": True, "offered": 2, "at": [10, 100],
                "stretches": [["1000", 2], ["9000", 2]], "packed": pack(planes),
                "sums": pack(json.dumps(SUMS).encode()), "items": pack(json.dumps(ITEMS).encode()), "closeups": pack(b"[]")}
        self.driver.execute_async_script("const [film, done] = arguments; heaptape.readFilm(film).then((read) => { window.film = read; done(); })", film)

    def colours(self, kind):
        """Of each frame, the lowest address first."""
        return self.driver.execute_async_script("""const [kind, done] = arguments;
            heaptape.mapPaint.paint(film, kind, ['lex'], () => true).then((picture) => done(film.at.map((_, frame) =>
                [0, 1, 2, 3].map((row) => [...picture.getContext('2d').getImageData(frame, 3 - row, 1, 1).data]))))""", kind)

    def test_is_not_drawn_to_the_end_where_another_picture_is_wanted(self):
        self.assertIsNone(self.driver.execute_async_script(
            "heaptape.mapPaint.paint(film, 'age', [], () => false).then(arguments[0])"))

    def test_is_told(self):
        self.assertEqual(self.run_script("heaptape.mapTexts(film, ['lex'], {frame: 1, row: 0})"), [
            "one after call #100: 11.7 KiB live in 12.0 KiB of blocks, 2.00 KiB free and resident, 0 B free and given back",
            "0x1000, 4.00 KiB: over 98% live; blocks of about 64 B, made about #4, one of them by lex",
            "block of 3.91 KiB, 0x1000 to 0x2000, made by call #4; there from #10 to #100"])
        self.assertEqual(self.run_script("heaptape.mapTexts(film, ['lex'], {frame: 1, row: 3}).slice(1)"), [
            "0xa000, 4.00 KiB: over 98% free and resident", "hole of 2.00 KiB, 0xa000 to 0xa800; there from #100 to #100"])

    def test_says_how_far_shares_are_rounded(self):
        self.assertEqual(self.run_script("""[1, 2, 15, 30, 31].map((level) => { film.planes.freeResident[7] = level;
            return heaptape.mapTexts(film, [], {frame: 1, row: 3})[1].replace(/.*: /, ''); })"""), [
                f"{share} free and resident" for share in ("under 5%", "about 6%", "about 48%", "about 97%", "over 98%")])

    def test_has_what_it_is_in_colours(self):
        self.assertEqual(self.colours("state"), [self.colours_of("part-live", "part-hole", "map-absent", "paper"),
                                                 self.colours_of("part-live", "part-live", "part-live", "part-hole")])

    def test_has_ages_as_they_were_at_each_call(self):
        self.assertEqual(self.colours("age"), [self.colours_of("band-4", "map-free", "map-free", "paper"),
                                               self.colours_of("band-5", "band-1", "band-2", "map-free")])

    def test_has_sizes_by_their_powers_of_two(self):
        self.assertEqual(self.colours("size"), [self.colours_of("band-1", "map-free", "map-free", "paper"),
                                                self.colours_of("band-1", "band-3", "band-5", "map-free")])

    def test_has_sites_in_the_colours_of_the_legend(self):
        self.assertEqual(self.colours("site"), [self.colours_of("site-0", "map-free", "map-free", "paper"),
                                                self.colours_of("site-0", "part-other", "part-metadata", "map-free")])
        self.assertEqual(self.run_script("heaptape.mapPaint.legend('site', film, ['lex'])"), [
            ["site-0", "lex"], ["part-other", "other sites"], ["part-metadata", "not known"], ["map-free", "free"]])


CELL = 4096
STRETCHES = [(0x10000, 20), (0x80000, 7), (0x7f0000000000, 33)]
ROWS = sum(cells for _, cells in STRETCHES)
AT = [0, 10, 11, 40, 41, 42, 100, 400, 1000, 1001]
MAP_ITEMS = [
    (0x10000, 8192, 1, 0, 3),
    (0x11FFF, 1, 2, 0, 9),
    (0x12000, 4096, 0, 2, 6),
    (0x12800, 30_000, 5, 5, 9),
    (0x12100, 16, 7, 0, 9),
    (0x12200, 24, 8, 0, 9),
    (0x7F0000000800, 5 << 12, 0, 4, 6),
]
MOMENTS = [{"name": "peak", "at": 41}, {"name": "mark:half", "at": 400}]


def addresses():
    return [begin + CELL * i for begin, cells in STRETCHES for i in range(cells)]


class Places(OnePage):
    """Which cell shows which address and which call: every place is computed here once more."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        browser.show(cls.driver, cls.page.path)
        choose = random.Random(5)
        cls.free = [[choose.choice([0, choose.randrange(32)]) for _ in range(ROWS)] for _ in AT]
        cls.other = other = [[choose.randrange(32) for _ in range(ROWS)] for _ in AT]
        planes = b"".join(
            bytes([*frames[0], *(a ^ b for before, after in zip(frames, frames[1:]) for a, b in zip(before, after))])
            for frames in (other, cls.free, other, other, other, other)
        )
        columns = dict(zip(("begin", "bytes", "birth", "first", "last"), map(list, zip(*MAP_ITEMS))))
        items = {**columns, "begin": [f"{one:x}" for one in columns["begin"]], "asked": [1] * len(MAP_ITEMS)}
        film = {
            "label": "one",
            "events": 1001,
            "cellBytes": CELL,
            "knowsAbsent": True,
            "offered": 2,
            "at": AT,
            "stretches": [[f"{begin:x}", cells] for begin, cells in STRETCHES],
            "packed": pack(planes),
            "sums": pack(json.dumps({name: [1] * len(AT) for name in SUMS}).encode()),
            "items": pack(json.dumps(items).encode()),
            "closeups": pack(b"[]"),
        }
        cls.driver.execute_async_script("""const [film, moments, done] = arguments;
            window.map = heaptape.heapMap({films: {runs: [null, film], sites: ['lex'], closeSites: []}, moments}, document.body);
            map.chooseRun(0).then(() => { window.film = map.film; done(); });""", film, MOMENTS)

    def test_have_the_mean_colour_of_their_parts(self):
        """All planes but that of free and resident memory are the same here."""
        shown = self.driver.execute_async_script("""const [done] = arguments;
            heaptape.mapPaint.paint(film, 'state', [], () => true).then((picture) => done(film.at.map((_, frame) =>
                [...picture.getContext('2d').getImageData(frame, 0, 1, film.rows).data])));""")
        inks = self.colours_of("part-live", "part-hole", "map-absent")
        [paper] = self.colours_of("paper")
        for frame, (pixels, others, free) in enumerate(zip(shown, self.other, self.free)):
            for row in range(ROWS):
                at = 4 * (ROWS - 1 - row)
                parts = (others[row], free[row], others[row])
                for i in range(3):
                    mean = paper[i] + sum(part * (ink[i] - paper[i]) for part, ink in zip(parts, inks)) / max(
                        31, sum(parts)
                    )
                    self.assertAlmostEqual(pixels[at + i], mean, delta=0.51, msg=(frame, row))

    def test_are_in_bands_by_age_and_size(self):
        found = self.driver.execute_async_script("""const [done] = arguments; const {paint} = heaptape.mapPaint;
            const rows = 1001;
            const full = new Array(rows).fill(31), none = new Array(rows).fill(0);
            const one = {frames: 1, rows, at: [1000], fullCell: 31, birth: (i) => i, sizeLog2: (i) =>
            i / 20, planes: {live: full, freeResident: none, freeAbsent: none}};
            Promise.all(['age', 'size'].map((kind) => paint(one, kind, [], () => true))).then((pictures) =>
                done(pictures.map((picture) => [...picture.getContext('2d').getImageData(0, 0, 1, rows).data])));""")
        bands = [tuple(colour) for colour in self.colours_of(*(f"band-{i}" for i in range(6)))]
        self.assertEqual(len(set(bands)), 6)
        # 1,000 calls so far; sizes are powers of 2.
        limits = ([10, 50, 200, 500, 800], [5 * 20, 7 * 20, 10 * 20, 14 * 20, 20 * 20])
        for pixels, edges, of_row in zip(found, limits, (lambda i: 1000 - i, lambda i: i)):
            shown = [bands.index(tuple(pixels[4 * (1000 - i) : 4 * (1000 - i) + 4])) for i in range(1001)]
            self.assertEqual(shown, [sum(of_row(i) >= edge for edge in edges) for i in range(1001)])
        words = self.run_script("""['age', 'size'].map((kind) => heaptape.mapPaint.legend(kind, film, []).map(([,
            text]) => text))""")
        self.assertEqual(
            words,
            [
                ["newest 1% of the calls so far", "5%", "20%", "half", "80%", "older", "free"],
                ["under 32 B", "under 128 B", "under 1 KiB", "under 16 KiB", "under 1 MiB", "larger", "free"],
            ],
        )

    def test_are_dragged_from_seven_pixels_on(self):
        moved = self.run_script("""(() => { const {left, top} = map.canvas.getBoundingClientRect();
            const moved = [[6, 0], [0, 7], [3, -3], [-4, 3]].map(([x, y]) =>
            { map.drag = {x: 200, y: 100, moved: false};
                map.move({clientX: left + 200 + x, clientY: top + 100 + y}); return map.drag.moved; });
            map.drag = null; return moved; })()""")
        self.assertEqual(moved, [False, True, False, True])

    def test_of_addresses_are_rows_and_back(self):
        rows = [one for at in addresses() for one in (at, at + 1024, at + CELL - 1)] + [
            0xFFFF,
            0x10000 + 20 * CELL,
            0x80000 - 1,
            0x7F0000000000 + 33 * CELL,
        ]
        found, back = self.run_script("""[arguments[0].map((at) => film.rowOf(BigInt(at))),
            [...Array(film.rows + 1).keys()].map((row) => String(film.addressOf(row)))]""",
                                      [str(one) for one in rows])
        self.assertEqual(back, [*map(str, addresses()), "null"])
        self.assertEqual(found, [row + part for row in range(ROWS) for part in (0, 0.25, 1 - 1 / CELL)] + [None] * 4)

    def test_of_calls_are_those_of_the_frame_that_is_closest(self):
        calls = [
            -5,
            *(call + part for call in AT for part in (-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75)),
            25,
            25.5,
            70.9,
            71,
            249.9,
            250,
            700,
            2000,
        ]
        found, bounds = self.run_script("""[arguments[0].map((call) => film.frameAt(call)), film.at.map((_, i) =>
            film.bounds(i))]""", calls)
        for call, frame in zip(calls, found):
            nearest = min(abs(call - at) for at in AT)
            self.assertEqual(abs(call - AT[frame]), nearest, call)
        edges = [AT[0], *((a + b) / 2 for a, b in zip(AT, AT[1:])), AT[-1]]
        self.assertEqual(bounds, [list(pair) for pair in zip(edges, edges[1:])])

    def test_have_the_items_that_are_there_smallest_first(self):
        found, freest = self.run_script("""[film.at.map((_, frame) => [...Array(film.rows).keys()].map((row) =>
            film.itemsAt(frame, row).map((item) => Number(item.begin)))),
            film.at.map((_, frame) => film.freest(frame))]""")
        for frame in range(len(AT)):
            self.assertEqual(freest[frame], self.free[frame].index(max(self.free[frame])))
            for row, address in enumerate(addresses()):
                there = [
                    (size, begin)
                    for begin, size, _, first, last in MAP_ITEMS
                    if first <= frame <= last and begin < address + CELL and begin + size > address
                ]
                self.assertEqual(found[frame][row], [begin for _, begin in sorted(there)], (frame, row))

    def test_tell_at_most_three_items_of_a_cell(self):
        texts = self.run_script("""[[1, 2], [5, 2], [9, 2], [9, null]].map(([frame, row]) =>
            heaptape.mapTexts(film, [], {frame, row}).slice(1).map((line) => line.split(',')[1] ?? line))""")
        self.assertEqual(
            [[text.split(" ")[1] for text in lines[1:]] for lines in texts],
            [["0x12100", "0x12200"], ["0x12100", "0x12200", "0x12000"], ["0x12100", "0x12200", "0x12800"], []],
        )
        self.assertEqual([len(lines) for lines in texts], [3, 4, 4, 0])

    def test_begin_in_the_largest_hole_or_where_most_is_free(self):
        def first_places(moments):
            return self.run_script("""[arguments[0].map((moments) => { const before = map.data.moments;
                map.data.moments = moments;
                const place = map.firstPlace(); map.data.moments = before; return [place.frame, place.row];
                })][0]""", moments)
        at = lambda **moments: [{"name": name, "at": call} for name, call in moments.items()]
        found = first_places([at(peak=41), at(end=400, peak=11), at(peak=10, plateau=41), at(end=10), []])
        freest = lambda frame: self.free[frame].index(max(self.free[frame]))
        hole = 27 + 3  # half of five cells, from the middle of the first
        self.assertEqual(found, [[4, hole], [2, 2], [4, hole], [1, freest(1)], [9, freest(9)]])

    def test_of_the_canvas_are_calls_and_rows_and_back(self):
        views = [{"left": 0, "right": 1001, "low": 0, "high": 60}, {"left": 10, "right": 42, "low": 7, "high": 12}]
        for view, [size, calls, rows, edges] in zip(views, self.run_script("""arguments[0].map((view) =>
            { const frame = new heaptape.mapPaint.Frame({clientWidth: 506, clientHeight: 320}, view);
                return [[frame.x, frame.y, frame.width, frame.height], [106, 206, 506].map((x) => [frame.callAt(x),
            frame.xOf(frame.callAt(x))]),
                    [...Array(300).keys()].map((y) => frame.rowAt(y + 0.5)), [view.low, view.high].map((row) =>
            frame.yOf(row))]; })""", views)):
            self.assertEqual(size, [106, 0, 400, 300])
            self.assertEqual(edges, [300, 0])
            span, height = view["right"] - view["left"], view["high"] - view["low"]
            for [call, x], place in zip(calls, (106, 206, 506)):
                self.assertAlmostEqual(call, view["left"] + span * (place - 106) / 400)
                self.assertAlmostEqual(x, place)
            self.assertEqual(rows, [int(view["high"] - (y + 0.5) * height / 300) for y in range(300)])

    DRAWN = """const calls = []; const context = {measureText: (text) => ({width: 6 * text.length}),
            setTransform: (...all) => calls.push(['ratio', ...all])};
        for (const name of ['save', 'restore', 'beginPath', 'stroke', 'clip', 'setLineDash']) context[name] = () => {};
        for (const name of ['rect', 'strokeRect', 'fillRect', 'moveTo', 'lineTo', 'drawImage',
            'fillText']) context[name] = (...all) => calls.push([name, ...all]);
        const canvas = {clientWidth: 506, clientHeight: 320, getContext: () => context};
        const draw = (view, act) => { calls.length = 0; act(canvas, new heaptape.mapPaint.Frame(canvas, view));
            return [...calls, [context.imageSmoothingEnabled, canvas.width, canvas.height]]; };
        """

    def drawn(self, calls, name):
        return [call[1:] for call in calls if call[0] == name]

    def test_of_the_picture_are_stretched_over_what_is_shown(self):
        views = [{"left": 0, "right": 1001, "low": 0, "high": 60}, {"left": 40, "right": 120, "low": 18, "high": 30}]
        drawn = self.driver.execute_script(self.DRAWN + """return arguments[0].map((view) =>
            draw(view, (canvas, frame) => heaptape.mapPaint.drawHeap(canvas, film, null, frame)));""", views)
        for view, calls in zip(views, drawn):
            self.check_drawn(view, calls)

    def check_drawn(self, view, calls):
        span, rows = view["right"] - view["left"], view["high"] - view["low"]
        x_of = lambda call: 106 + (call - view["left"]) / span * 400
        y_of = lambda row: (view["high"] - row) / rows * 300
        edges = [AT[0], *((a + b) / 2 for a, b in zip(AT, AT[1:])), AT[-1]]
        wanted = [
            [None, i, ROWS - view["high"], 1, rows, x_of(left), 0, max(1, x_of(right) - x_of(left)) + 0.5, 300]
            for i, (left, right) in enumerate(zip(edges, edges[1:]))
            if x_of(right) >= 106 and x_of(left) <= 506
        ]
        images = self.drawn(calls, "drawImage")
        self.assertEqual(len(images), len(wanted))
        for image, expected in zip(images, wanted):
            for one, other in zip(image[1:], expected[1:]):
                self.assertAlmostEqual(one, other)
        self.assertEqual(self.drawn(calls, "rect"), [[106, 0, 400, 300]])
        breaks = [y for [_, y] in self.drawn(calls, "moveTo")]
        self.assertEqual(len(breaks), 2)
        for y, row in zip(breaks, (20, 27)):
            self.assertAlmostEqual(y, y_of(row))
        texts = self.drawn(calls, "fillText")
        labels = [(text, x, y) for text, x, y in texts if text.startswith("0x")]
        self.assertEqual(
            [text for text, *_ in labels],
            [f"0x{addresses()[min(59, int(view['low'] + rows * i / 5))]:x}" for i in range(6)],
        )
        for (_, x, y), i in zip(labels, range(6)):
            row = min(59, int(view["low"] + rows * i / 5))
            self.assertEqual(x, 102)
            self.assertAlmostEqual(y, min(max(y_of(row), 7), 293))
        ticks = [(text, x, y) for text, x, y in texts if text.startswith("#")]
        self.assertEqual(
            [text for text, *_ in ticks],
            ["#0", "#500", "#1k"] if span == 1001 else ["#40", "#60", "#80", "#100", "#120"],
        )
        for text, x, y in ticks:
            call = int(text[1:].replace("k", "000"))
            self.assertAlmostEqual(x, min(x_of(call), 506 - 3 * len(text)))
            self.assertEqual(y, 305)

    def test_of_breaks_have_lines_that_can_be_told_apart(self):
        calls = self.driver.execute_script(self.DRAWN + """return draw({left: 0, right: 9, low: 0, high: 300},
            (canvas, frame) => heaptape.mapPaint.drawHeap(canvas, {...film, rows: 300, frames: 0, addressOf: () => 0n,
                stretches: new Array(100).fill({cells: 3})}, null, frame));""")
        self.assertEqual([round(y) for [_, y] in self.drawn(calls, "moveTo")], list(range(297, 0, -6)))

    def test_is_smoothed_only_where_cells_are_smaller_than_pixels(self):
        found = self.driver.execute_script(self.DRAWN + """return [[300, 2], [301, 2], [301, 1]].map(([rows,
            ratio]) => {
            Object.defineProperty(window, 'devicePixelRatio', {value: ratio, configurable: true});
            return draw({left: 0, right: 9, low: 0, high: rows}, (canvas, frame) =>
            heaptape.mapPaint.drawHeap(canvas, {...film, stretches: [], frames: 0, addressOf: () => 0n},
            null, frame)).pop(); });""")
        self.assertEqual(found, [[False, 1012, 640], [True, 1012, 640], [True, 506, 320]])

    def test_of_marks_are_their_calls_and_names_do_not_overlap(self):
        moments = [
            {"at": at, "text": text}
            for at, text in ((0, "begin"), (20, "soon"), (500, "half"), (1001, "end"), (1500, "later"))
        ]
        calls = self.driver.execute_script(self.DRAWN + """return draw({left: 0, right: 1000, low: 0, high: 60},
            (canvas, frame) =>
            heaptape.mapPaint.drawMarks(canvas, film, frame, {moments: arguments[0], at: {frame: 7, row: 15},
            drag: {x: 200, y: 90, toX: 150, toY: 120}}));""", moments)
        self.assertEqual(
            [(text, x) for text, x, _ in self.drawn(calls, "fillText")],
            [("begin", 109), ("half", 309), ("end", 106 + 400.4 - 24 + 3)],
        )
        lines = list(zip(self.drawn(calls, "moveTo"), self.drawn(calls, "lineTo")))
        moved = [([x, 0], [x, 300]) for x in (106, 114, 306, 506.4, 106 + 160)] + [([106, 222.5], [506, 222.5])]
        self.assertEqual(lines, moved)
        self.assertEqual(self.drawn(calls, "strokeRect"), [[150, 90, 50, 30]])

    def test_of_a_zoom_stay_within_the_whole(self):
        zooms = self.run_script("""(() => { const seen = []; const see = () => seen.push(Object.values(map.zoom));
            const wholes = [map.whole()];
            for (const [left, right, low, high] of [[100, 400, 10, 30], [-50, 2000, -9, 99], [400, 401, 20.5, 21.5],
            [0, 500, 58.5, 60], [900, 1500, 0, 1]]) { map.zoomTo({left, right, low, high}); see(); }
            map.zoomTo(null); see(); map.choosePlace(6, 10); map.zoomBy(0.5); see(); map.zoomBy(0.5); see();
            map.zoomBy(2); see(); map.zoomBy(4); see();
            map.choosePlace(9, 59); map.zoomBy(0.1); see(); map.zoomTo(null); return seen; })()""")
        wanted = [
            [100, 400, 10, 30],
            [0, 1001, 0, 60],
            [300.4, 500.6, 20, 24],
            [0, 500, 56, 60],
            [900, 1001, 0, 4],
            [0, 1001, 0, 60],
            [50, 550.5, 5, 36],
            [75, 325.25, 7, 24],
            [50, 550.5, 3, 38],
            [0, 1001, 0, 60],
            [850.85, 1001, 53, 60],
        ]
        for zoom, expected in zip(zooms, wanted, strict=True):
            for one, other in zip(zoom, expected, strict=True):
                self.assertAlmostEqual(one, other, msg=(zoom, expected))

    def test_of_a_dragged_box_are_zoomed_to_whichever_way_it_was_dragged(self):
        zooms = self.run_script("""(() => { const {x, y, width, height} = map.frame(); const at = (a, b) =>
            ({x: x + a * width, y: y + b * height});
            return [[0.25, 0.25, 0.75, 0.5], [0.75, 0.5, 0.25, 0.25], [0.25, 0.5, 0.75, 0.25]].map(([a, b, c, d]) => {
                map.zoomTo(null); map.zoomToBox(at(a, b + 0.001), at(c, d - 0.001 * Math.sign(d - b)));
            const zoom = Object.values(map.zoom); map.zoomTo(null); return zoom; }); })()""")
        for zoom in zooms:
            self.assertAlmostEqual(zoom[0], 250.25)
            self.assertAlmostEqual(zoom[1], 750.75)
            self.assertIn(zoom[2:], ([30, 45], [29, 45]))

    def test_below_the_pointer_are_those_of_the_zoom(self):
        for view, places in self.run_script("""[[0, 1001, 0, 60], [10, 42, 20, 30]].map(([left, right, low, high]) => {
                map.zoomTo({left, right, low, high}); const {x, width, height} = map.frame();
                const places = [...Array(20).keys()].map((i) =>
            map.under({x: x + (i + 0.5) / 20 * width, y: (i + 0.3) / 20 * height}));
                const view = Object.values(map.zoom); map.zoomTo(null); return [view, places.map(({frame, row}) =>
            [frame, row])]; })"""):
            left, right, low, high = view
            for i, (frame, row) in enumerate(places):
                call = left + (i + 0.5) / 20 * (right - left)
                self.assertEqual(abs(call - AT[frame]), min(abs(call - at) for at in AT))
                self.assertEqual(row, int(high - (i + 0.3) / 20 * (high - low)))

    def test_of_keys_are_next_to_the_last_and_stay_within(self):
        found = self.run_script("""(() => { map.zoomTo(null); map.choosePlace(1, 58);
            return [['Right'], ['Up'], ['Up'], ['Left', true], ['Down', true], ['Right', true],
            ['Down']].map(([key, shiftKey]) => {
                map.key({key: 'Arrow' + key, shiftKey, preventDefault() {}});
            return [map.at.frame, map.at.row, map.slider.value]; }); })()""")
        self.assertEqual(
            found, [[2, 58, "2"], [2, 59, "2"], [2, 59, "2"], [0, 59, "0"], [0, 49, "0"], [9, 49, "9"], [9, 48, "9"]]
        )

    def test_follow_the_charts_unless_kept(self):
        found = self.run_script("""(() => { const told = []; const charts = {axis: 'at', moveCursor: (call) =>
            { told.push(call); charts.onCursor(call); }};
            heaptape.shareCursor(charts, map); map.choosePlace(3, 5);
            const seen = []; for (const call of [100, 249, 251, null]) { charts.onCursor(call);
            seen.push(map.at.frame, map.at.row); }
            map.isKept = true; charts.onCursor(0); seen.push(map.at.frame); map.leave(); map.isKept = false;
            map.leave();
            charts.axis = 'timeNs'; map.choosePlace(1, 1); map.onCursor = null; return [seen, told]; })()""")
        self.assertEqual(found, [[6, 5, 6, 5, 7, 5, 7, 5, 7], [40, None]])


if __name__ == "__main__":
    harness.main("film_test")
