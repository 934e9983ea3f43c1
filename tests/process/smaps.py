"""What the kernel says of the memory of a process, to compare heaptape's figures with."""

import os
import re
from dataclasses import dataclass

HEAD = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) \d+ *(.*)$")
KERNELS_OWN = "00:01"  # the file system of memfd_create, shmget and shared anonymous mappings


@dataclass
class Mapping:
    begin: int
    end: int
    device: str
    path: str
    fields: dict

    def anonymous(self):
        return self.fields["Anonymous"] + self.fields["Swap"]


@dataclass(frozen=True)
class Memory:
    """In bytes, by the names of a report's `process`."""

    anonymous: int
    stacks: int
    files: int
    shared: int
    huge: int


def parse(text):
    mappings = []
    for line in text.splitlines():
        if head := HEAD.match(line):
            mappings.append(Mapping(int(head[1], 16), int(head[2], 16), head[3], head[4], {}))
        elif line.endswith(" kB"):
            name, value, _ = line.split()
            mappings[-1].fields[name.rstrip(":")] = int(value) << 10
    return mappings


def tmpfs_devices(mounts):
    """The devices, as /proc/PID/maps writes them, of the file systems in memory of /proc/self/mountinfo."""
    devices = {KERNELS_OWN}
    for line in mounts.splitlines():
        if re.search(r" - (dev)?tmpfs ", line):
            major, minor = line.split()[2].split(":")
            devices.add(f"{int(major):02x}:{int(minor):02x}")
    return devices


def sum_up(mappings, stack_pointers, shared_devices):
    def is_stack(mapping):
        return mapping.path in ("", "[stack]") and any(mapping.begin <= at < mapping.end for at in stack_pointers)
    of_files = [(one.fields["Rss"] - one.fields["Anonymous"], one.device in shared_devices) for one in mappings]
    return Memory(anonymous=sum(one.anonymous() for one in mappings),
                  stacks=sum(one.anonymous() for one in mappings if is_stack(one)),
                  files=sum(size for size, is_shared in of_files if not is_shared),
                  shared=sum(size for size, is_shared in of_files if is_shared),
                  huge=sum(one.fields["Private_Hugetlb"] + one.fields["Shared_Hugetlb"] for one in mappings))


def stack_pointers(pid):
    """Of threads that stand still."""
    pointers = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/syscall") as file:
            words = file.read().split()
        if len(words) >= 3:  # or it is "running"
            pointers.append(int(words[-2], 16))
    return pointers


def read(pid):
    with open(f"/proc/{pid}/smaps") as file:
        mappings = parse(file.read())
    with open("/proc/self/mountinfo") as file:
        return sum_up(mappings, stack_pointers(pid), tmpfs_devices(file.read()))
