"""Makes the pictures of docs/images: `./dev screenshots`.

usage: python3 -m tests.browser.screenshots HEAPTAPE DIRECTORY [PICTURE...]

The pages show recordings in docs/questions, and programs of docs/tutorial and docs/first-screens, recorded for them.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import browser, small_png

if not browser.missing():
    from selenium.webdriver.support.wait import WebDriverWait

DESK, PHONE = (1440, 900, "light"), (390, 844, "dark")
QUESTIONS, TUTORIAL, PROGRAMS = (Path("docs") / name for name in ("questions", "tutorial", "first-screens"))
TEN = ("redis", "python", "threads", "compiler", "pandas", "node", "leak", "regression", "sweep", "tune")
# Name of the picture, page, and what a script shows of it: the top of the page, or an element.
SHOTS = [
    ("first-redis", "redis", None, DESK),
    ("heap-redis", "redis", "#map", DESK),  # at the plateau, where it begins
    ("close-up", "holes", ".closeup-parts", DESK),
    ("comparison", "diff", None, DESK),
    *((f"ten/{page}", page, None, DESK) for page in TEN),
    *((f"ten/{page}-phone", page, None, PHONE) for page in TEN),
]


class Pages:
    """Makes a page when it is asked for, once."""

    def __init__(self, heaptape, folder):
        self.heaptape = heaptape
        self.folder = folder

    def page(self, name):
        path = self.folder / f"{name}.html"
        if not path.exists():
            getattr(self, name, lambda: self.replay(QUESTIONS / f"{name}.tape", name))()
        return path

    def question(self, name):
        shutil.copy(QUESTIONS / f"{name}.tape", self.folder)
        return f"{name}.tape"

    # In the folder, so that no page says where that was.
    def run(self, *words, may_fail=False):
        subprocess.run([self.heaptape, *map(str, words)], check=not may_fail, stdout=subprocess.DEVNULL, cwd=self.folder)

    def replay(self, tape, name, *options):
        shutil.copy(tape, self.folder)
        self.run("replay", tape.name, "--html", f"{name}.html", *options)

    def record(self, name, *command):
        self.run("record", "--stacks", "dwarf", "--follow", "none", "-o", f"{name}.tape", "--", *command)
        self.run("replay", f"{name}.tape", "--html", f"{name}.html")

    def compile(self, source, *options):
        shutil.copy(source, self.folder)
        subprocess.run(["cc", "-g", *options, "-o", source.stem, source.name], check=True, cwd=self.folder)
        return f"./{source.stem}"

    def script(self, name):
        shutil.copy(PROGRAMS / name, self.folder)
        return name

    def pandas(self):
        self.record("pandas", "/usr/bin/python3", self.script("frames.py"))

    def node(self):
        self.record("node", "node", self.script("sessions.js"))

    def leak(self):
        self.record("leak", self.compile(PROGRAMS / "audit.c"))

    def holes(self):
        self.record("holes", self.compile(TUTORIAL / "gateway.c"))

    def regression(self):
        for name, options in (("before", ["-DTABLE"]), ("after", [])):
            self.record(name, self.compile(TUTORIAL / "gateway.c", *options))
            self.run("replay", f"{name}.tape", "-a", "model:ptmalloc", "-o", f"{name}.json")
        self.run("diff", "before.json", "after.json", "--html", "regression.html")

    # What a cache of blocks in each thread costs.
    def diff(self):
        for name, arenas, cache in (("main", ":arena_max=1", ":tcache=off"), ("branch", "", "")):
            self.run("replay", self.question("threads"), "-a", f"ptmalloc=model:ptmalloc{arenas}", "-a", f"slabs=model:slabs{cache}", "-o", f"{name}.json")
        self.run("diff", "main.json", "branch.json", "--fail-if", "peak.committedBytes>+5%", "--html", "diff.html", may_fail=True)

    def sweep(self):
        tapes = [self.question(name) for name in ("redis", "python", "compiler")]
        self.run("sweep", *tapes, "-a", "glibc", "-a", "jemalloc", "-a", "mimalloc", "-o", "swept")
        (self.folder / "swept" / "sweep.html").rename(self.folder / "sweep.html")

    def tune(self):
        self.run("tune", self.question("redis"), "--trials", "32", "-o", "tuned")
        (self.folder / "tuned" / "tune.html").rename(self.folder / "tune.html")


def take(driver, page, selector, looks, out):
    browser.show(driver, page, *looks)
    if selector:
        driver.execute_script("document.getElementById('map').scrollIntoView()")
        WebDriverWait(driver, browser.PATIENCE).until(lambda _: driver.execute_script("return document.getElementById('map').dataset.ready"))
        driver.execute_script("document.querySelector(arguments[0]).scrollIntoView()", selector)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(small_png.smaller(driver.get_screenshot_as_png()))


def main():
    heaptape, folder, *names = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]), *sys.argv[3:]
    if reason := browser.missing():
        sys.exit(f"screenshots: {reason}")
    if unknown := set(names) - {name for name, *_ in SHOTS}:
        sys.exit(f"screenshots: there is no picture {unknown.pop()!r}")
    with tempfile.TemporaryDirectory(prefix="heaptape-shots-") as directory:
        pages = Pages(heaptape, Path(directory))
        driver = browser.start()
        try:
            for name, page, selector, looks in SHOTS:
                if names and name not in names:
                    continue
                out = folder / f"{name}.png"
                take(driver, pages.page(page), selector, looks, out)
                print(f"{out}: {out.stat().st_size:,} bytes")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
