"""Processes below another one: what tests kill is found by its parent, never by its name alone."""

import contextlib
import pathlib
import time

WAIT_SECONDS = 120  # for what comes at once, unless the machine is busy


def children(process):
    with contextlib.suppress(OSError):
        tasks = pathlib.Path(f"/proc/{process}/task")
        return [
            int(child)
            for task in tasks.iterdir()
            for child in (task / "children").read_text().split()
        ]
    return []


def descendants(process):
    found = children(process)
    return found + [one for child in found for one in descendants(child)]


def command(process):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return [b""]


def is_alive(process):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return False


def is_agent(process):
    """Two of Ray's processes try for a minute to tell a killed Ray that they end."""
    return command(process)[0] in (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")


def replaying(process):
    """Workers below the process that replay a tape right now."""
    return [
        one
        for one in descendants(process)
        if any(command(child)[1:2] == [b"replay"] for child in children(one))
    ]


def until(condition, seconds=WAIT_SECONDS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited for {seconds} s")
