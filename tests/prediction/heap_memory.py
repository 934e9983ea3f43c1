"""What a live process's allocator holds, as the kernel sees it; to compare replays with."""

import functools
import struct
from dataclasses import dataclass

PAGE = 4096
STACK = 8 << 20  # of a thread, under `ulimit -s 8192`
LOAD = 1  # PT_LOAD of elf(5)
HELD = bytes(1 if byte & 0xC0 else 0 for byte in range(256))  # of pagemap: present or swapped


@dataclass
class HeapMemory:
    """Bytes."""

    committed: int = 0
    resident: int = 0


@dataclass
class Mapping:
    begin: int
    end: int
    permissions: str
    path: str  # of a file
    is_anonymous: bool


def parse_mapping(line):
    fields = line.split(None, 5)
    begin, end = (int(number, 16) for number in fields[0].split("-"))
    path = fields[5].strip() if len(fields) > 5 else ""
    is_anonymous = fields[4] == "0" and (path in ("", "[heap]") or path.startswith("[anon:"))
    return Mapping(begin, end, fields[1], path if fields[4] != "0" else "", is_anonymous)


@functools.cache
def bss_bytes(path):
    """Pages of zeroes behind the data of a program or library; 0 for other files."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:5] != b"\x7fELF\x02":
                return 0
            (at,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(at)
            table = file.read(size * count)
    except OSError:
        return 0
    most = 0
    for i in range(count):
        kind, _, _, address, _, in_file, in_memory, _ = struct.unpack_from("<IIQQQQQQ", table, i * size)
        if kind == LOAD:
            end_of_file = -(-(address + in_file) // PAGE) * PAGE
            most = max(most, -(-(address + in_memory) // PAGE) * PAGE - end_of_file)
    return most


def heap_ranges(maps):
    """The writable anonymous mappings of a text of /proc/PID/maps, but for thread stacks, which lie
    above a guard page, and the .bss of programs and libraries, which lies behind their data. The
    kernel shows neighbors as one mapping, so these are taken off its beginning."""
    ranges = []
    before = Mapping(0, 0, "", "", False)
    for line in maps.splitlines():
        mapping = parse_mapping(line)
        begin = mapping.begin
        if begin == before.end:
            if before.permissions.startswith("---") and before.end - before.begin == PAGE:
                begin += STACK
            elif before.path:
                begin += bss_bytes(before.path)
        if mapping.is_anonymous and mapping.permissions.startswith("rw") and begin < mapping.end:
            ranges.append((begin, mapping.end))
        before = mapping
    return ranges


def resident_bytes(pagemap, ranges):
    total = 0
    for begin, end in ranges:
        pagemap.seek(begin // PAGE * 8)
        entries = pagemap.read((end - begin) // PAGE * 8)
        total += entries[7::8].translate(HELD).count(1) * PAGE
    return total


def read(pid):
    """None when the process is gone, or going."""
    try:
        with open(f"/proc/{pid}/maps") as maps:
            ranges = heap_ranges(maps.read())
        with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
            resident = resident_bytes(pagemap, ranges)
    except (OSError, ValueError):
        return None
    if not ranges:
        return None
    return HeapMemory(sum(end - begin for begin, end in ranges), resident)
