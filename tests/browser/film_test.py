"""How the page reads, tells and draws a film of which all is known. On pages of recordings: heap_map_test.py."""

import base64
import gzip
import json
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


class Film(Pages):
    @classmethod
    def make(cls):
        subprocess.run([harness.MAKE_TAPES, cls.folder], check=True, timeout=browser.PATIENCE)
        cls.page = Made(cls.folder, "stacks", cls.folder / "stacks.tape", "-a", "model:ptmalloc")

    def setUp(self):
        browser.show(self.driver, self.page.path)
        planes = bytes(byte for first, second in FRAMES.values() for byte in first + [a ^ b for a, b in zip(first, second)])
        film = {"label": "one", "events": 1000, "cellBytes": 4096, "knowsAbsent": True, "offered": 2, "at": [10, 100],
                "stretches": [["1000", 2], ["9000", 2]], "packed": pack(planes),
                "sums": pack(json.dumps(SUMS).encode()), "items": pack(json.dumps(ITEMS).encode())}
        self.driver.execute_async_script("const [film, done] = arguments; heaptape.readFilm(film).then((read) => { window.film = read; done(); })", film)

    def colours(self, kind):
        """Of each frame, the lowest address first."""
        return self.driver.execute_async_script("""const [kind, done] = arguments;
            heaptape.mapPaint.paint(film, kind, ['lex'], () => true).then((picture) => done(film.at.map((_, frame) =>
                [0, 1, 2, 3].map((row) => [...picture.getContext('2d').getImageData(frame, 3 - row, 1, 1).data]))))""", kind)

    def test_is_not_drawn_to_the_end_where_another_picture_is_wanted(self):
        self.assertIsNone(self.driver.execute_async_script(
            "heaptape.mapPaint.paint(film, 'age', [], () => false).then(arguments[0])"))

    def colours_of(self, *names):
        return self.run_script("""arguments[0].map((name) => { const paper = document.createElement('canvas').getContext('2d');
            paper.fillStyle = heaptape.colour(name); paper.fillRect(0, 0, 1, 1); return [...paper.getImageData(0, 0, 1, 1).data]; })""", names)

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


if __name__ == "__main__":
    harness.main("film_test")
