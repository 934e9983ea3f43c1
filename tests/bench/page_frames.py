"""./dev bench pages: what a page of ten million calls costs to open, and how long its frames take.

Makes two tapes, of server-like programs on three allocators and of a heap of 2 GiB with 2,000 samples, writes their
pages, and uses them as a person would in a headless Chromium whose own tracing is on. A frame is what the main thread
of the page did in one task: input, scripts, layout and paint. The table has, for each thing done, how many tasks took
a millisecond or more, their median, and the longest.

usage: page_frames.py HEAPTAPE [--events N] [--keep FOLDER]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.browser import browser

TRACED = "toplevel,blink.user_timing,disabled-by-default-devtools.timeline"
STEPS = 60  # of a pointer that moves
PAGES = {
    "servers": (["fleet-like", "--set", "live=200k"], ["-a", "glibc", "-a", "jemalloc", "-a", "model:ptmalloc"], 256),
    "2 GiB": (["random-slots", "--set", "slots=2M", "--set", "max=4280"], ["-a", "model:ptmalloc"], 2000),
}


def heaptape(path, *words):
    subprocess.run([path, *map(str, words)], check=True, capture_output=True, text=True)


def make(path, folder, name, events):
    scenario, allocators, samples = PAGES[name]
    tape, page = folder / f"{name}.tape", folder / f"{name}.html"
    heaptape(path, "scenario", *scenario, "--set", f"events={events}", "-o", tape)
    heaptape(path, "replay", tape, *allocators, "--samples", samples, "--html", page)
    return page


class Page:
    def __init__(self, driver, file):
        self.driver = driver
        browser.show(driver, file)
        self.opened = self.run("performance.timing.loadEventEnd - performance.timing.navigationStart")

    def run(self, script, *arguments):
        return self.driver.execute_script("return " + script, *arguments)

    def box(self, selector):
        """Left, top, width and height of an element that is now in sight."""
        return self.run("(() => { const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});"
                        "const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }).apply(0, arguments)",
                        selector)

    def mouse(self, kind, x, y, button="none", clicks=0):
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
            "type": kind, "x": x, "y": y, "button": button, "buttons": int(button == "left"), "clickCount": clicks})

    def sweep(self, selector, button="none"):
        """Moves over an element from its lower left to its upper right, with or without a button down."""
        left, top, width, height = self.box(selector)
        place = lambda part: (left + width * (0.3 + 0.6 * part), top + height * (0.85 - 0.6 * part))
        self.mouse("mouseMoved", *place(0))
        if button == "left":
            self.mouse("mousePressed", *place(0), "left", 1)
        for step in range(STEPS + 1):
            self.mouse("mouseMoved", *place(step / STEPS), button)
        if button == "left":
            self.mouse("mouseReleased", *place(1), "left", 1)

    def click(self, selector):
        left, top, width, height = self.box(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, left + width / 2, top + height / 2, "left", 1)

    def press(self, selector, key, times):
        self.run("document.querySelector(arguments[0]).focus()", selector)
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": key})

    def choose(self, label):
        """A button of the map's choices."""
        self.run("[...document.querySelectorAll('#map button[data-value]')]"
                 ".find((button) => button.textContent === arguments[0]).click()", label)


def trace(driver, last):
    """Events of the trace up to the mark `last`. The log comes late, so it is asked for until it has that."""
    events = []
    until = time.monotonic() + 60
    while not any(event["name"] == last for event in events) and time.monotonic() < until:
        messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        events += [message["params"] for message in messages if message["method"] == "Tracing.dataCollected"]
    return events


def tasks(events):
    """{what: milliseconds of each task of the page's main thread that took one or more}"""
    marks = {event["name"]: event for event in events if event["name"].startswith(("begin ", "end "))}
    took = {}
    for name, begin in marks.items():
        if not name.startswith("begin "):
            continue
        what = name[len("begin "):]
        end = marks["end " + what]
        took[what] = [event["dur"] / 1000 for event in events
                      if event["name"] in ("RunTask", "ThreadControllerImpl::RunTask") and event.get("dur", 0) >= 1000
                      and event["tid"] == begin["tid"] and begin["ts"] <= event["ts"] + event["dur"]
                      and event["ts"] <= end["ts"]]
    return took


def settle(page):
    page.driver.execute_async_script("""const done = arguments[0];
        const wait = () => setTimeout(() => document.querySelector("[aria-busy]") ? wait() : done(), 50);
        requestAnimationFrame(() => requestAnimationFrame(wait));""")


def interactions(page):
    """[(what, act)]"""
    labels = page.run("[...document.querySelectorAll('#map button[data-value]')].map((button) => button.textContent)")
    found = [("draw the map", lambda: page.box("#map canvas.map")),
             ("move over a chart", lambda: page.sweep("#timeline .plot")),
             ("zoom the charts by dragging", lambda: page.sweep("#timeline .plot", "left")),
             ("move over the map", lambda: page.sweep("#map canvas.map")),
             ("zoom the map by dragging", lambda: page.sweep("#map canvas.map", "left")),
             ("arrow keys on the map", lambda: page.press("#map canvas.map", "ArrowRight", STEPS))]
    return found + [(f"map, {label}", lambda label=label: page.choose(label)) for label in labels]


def measure(driver, name, file):
    page = Page(driver, file)
    settle(page)
    todo = interactions(page)
    for what, act in todo:
        page.run("performance.mark(arguments[0])", "begin " + what)
        act()
        settle(page)
        page.run("performance.mark(arguments[0])", "end " + what)
    print(f"\n{name}: {file.stat().st_size:,} B; opened in {page.opened} ms\n")
    print("| what | tasks | median ms | longest ms |\n|---|---:|---:|---:|")
    took = tasks(trace(driver, "end " + todo[-1][0]))
    for what, _ in todo:
        print(f"| {what} | {len(took[what])} | {statistics.median(took[what] or [0]):.1f} | "
              f"{max(took[what], default=0):.1f} |", flush=True)
    print("\n" + page.run("document.querySelector('#map .note:last-child').textContent"))


def main():
    options = argparse.ArgumentParser(prog="./dev bench pages")
    options.add_argument("heaptape")
    options.add_argument("--events", default="10M")
    options.add_argument("--keep", type=Path, help="a folder for the pages")
    options = options.parse_args()
    if browser.missing():
        sys.exit(browser.missing())
    with tempfile.TemporaryDirectory(prefix="heaptape-bench-") as temporary:
        folder = options.keep or Path(temporary)
        files = {name: make(options.heaptape, folder, name, options.events) for name in PAGES}
        for name, file in files.items():
            driver = browser.start(TRACED)
            try:
                measure(driver, name, file)
            finally:
                driver.quit()


if __name__ == "__main__":
    main()
