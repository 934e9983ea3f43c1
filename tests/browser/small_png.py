"""A PNG of 256 colors out of one of 16 million: a third of the size, for pictures of pages. Only what Chromium writes is read."""

import struct
import zlib
from collections import Counter

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunks(png):
    at = len(SIGNATURE)
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        yield kind, png[at + 8:at + 8 + size]
        at += 12 + size


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def paeth(left, above, corner):
    guess = left + above - corner
    distances = (abs(guess - left), abs(guess - above), abs(guess - corner))
    return (left, above, corner)[distances.index(min(distances))]


def unfilter_line(line, kind, above, step):
    """A line of samples without what its filter took off (PNG specification, 9.2)."""
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + above[i]) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + above[i]) // 2) & 255
        elif kind == 4:
            line[i] = (line[i] + paeth(left, above[i], corner)) & 255
    return line


def pixels(png):
    """Width, and the lines of the picture, of (red, green, blue)."""
    parts = list(chunks(png))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    if depth != 8 or colour not in (2, 6) or interlaced:
        raise ValueError("not a PNG as Chromium writes it")
    step = 3 if colour == 2 else 4
    data = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    above, lines = bytearray(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        above = unfilter_line(bytearray(data[start + 1:start + 1 + width * step]), data[start], above, step)
        lines.append(list(zip(above[0::step], above[1::step], above[2::step])))
    return width, lines


def smaller(png):
    width, lines = pixels(png)
    counts = Counter(pixel for line in lines for pixel in line)
    palette = [pixel for pixel, _ in counts.most_common(256)]
    index = {pixel: i for i, pixel in enumerate(palette)}
    for pixel in counts:  # rare ones become the nearest of the frequent ones
        if pixel not in index:
            index[pixel] = min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(pixel, palette[i])))
    raw = b"".join(b"\0" + bytes(map(index.__getitem__, line)) for line in lines)
    return (SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(lines), 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(map(bytes, palette))) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))
