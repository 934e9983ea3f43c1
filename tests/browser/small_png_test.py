"""Of small_png.py; needs no browser."""

import random
import struct
import unittest
import zlib

from . import small_png


def filter_line(line, kind, above, step):
    """The inverse of small_png.unfilter_line()."""
    out = bytearray()
    for i, byte in enumerate(line):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = [0, left, above[i], (left + above[i]) // 2, small_png.paeth(left, above[i], corner)][kind]
        out.append((byte - guess) & 255)
    return bytes(out)


def png_of(lines, colour):
    """With each filter in turn."""
    step = 3 if colour == 2 else 4
    raw, above = b"", bytes(len(lines[0]) * step)
    for y, line in enumerate(lines):
        samples = b"".join(bytes(pixel) + b"\xff" * (step - 3) for pixel in line)
        raw += bytes([y % 5]) + filter_line(samples, y % 5, above, step)
        above = samples
    head = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, colour, 0, 0, 0)
    data = zlib.compress(raw)
    return (small_png.SIGNATURE + small_png.chunk(b"IHDR", head) + small_png.chunk(b"IDAT", data[:9]) + small_png.chunk(b"IDAT", data[9:])
            + small_png.chunk(b"IEND", b""))


def decode(png):
    parts = dict(small_png.chunks(png))
    width, height, depth, colour = struct.unpack_from(">IIBB", parts[b"IHDR"])
    assert (depth, colour) == (8, 3)
    palette = [tuple(parts[b"PLTE"][i:i + 3]) for i in range(0, len(parts[b"PLTE"]), 3)]
    raw = zlib.decompress(parts[b"IDAT"])
    return [[palette[i] for i in raw[y * (width + 1) + 1:(y + 1) * (width + 1)]] for y in range(height)]


class SmallPng(unittest.TestCase):
    def picture(self, colours):
        choose = random.Random(7)
        palette = [tuple(choose.randrange(256) for _ in range(3)) for _ in range(colours)]
        return [[choose.choice(palette) for _ in range(40)] for _ in range(30)]

    def test_shows_the_same_where_there_are_few_colours(self):
        for colour in (2, 6):
            picture = self.picture(200)
            self.assertEqual(decode(small_png.smaller(png_of(picture, colour))), picture)

    def test_has_near_colours_where_there_are_many(self):
        picture = [[(x * 6, y * 8, 90) for x in range(40)] for y in range(30)]
        for line, wanted in zip(decode(small_png.smaller(png_of(picture, 6))), picture):
            for pixel, near in zip(line, wanted):
                self.assertEqual(pixel[2], near[2])

    def test_of_another_kind_is_refused(self):
        with self.assertRaises(ValueError):
            small_png.smaller(small_png.smaller(png_of(self.picture(2), 2)))


if __name__ == "__main__":
    unittest.main()
