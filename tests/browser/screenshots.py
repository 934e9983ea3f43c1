"""Makes the pictures of docs/images: `./dev screenshots`.

usage: python3 -m tests.browser.screenshots HEAPTAPE DIRECTORY

The pages show recordings in docs/questions.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from . import browser, small_png

if not browser.missing():
    from selenium.webdriver.support.wait import WebDriverWait

SIZE, SCHEME = (1440, 900), "light"
# Name of the picture, page, and what a script shows of it: the top of the page, or an element.
SHOTS = [
    ("first-redis", "redis", None),
    ("heap-redis", "redis", "#map"),  # at the plateau, where it begins
    ("comparison", "diff", None),
]


def make_pages(heaptape, folder):
    questions = Path("docs/questions")

    def run(*words):
        subprocess.run([heaptape, *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    run("replay", questions / "redis.tape", "--html", folder / "redis.html")
    # What a cache of blocks in each thread costs.
    run("replay", questions / "threads.tape", "-a", "ptmalloc=model:ptmalloc:arena_max=1", "-a", "slabs=model:slabs:tcache=off", "-o", folder / "main.json")
    run("replay", questions / "threads.tape", "-a", "ptmalloc=model:ptmalloc", "-a", "slabs=model:slabs", "-o", folder / "branch.json")
    subprocess.run([heaptape, "diff", "main.json", "branch.json", "--fail-if", "peak.committedBytes>+5%", "--html", "diff.html"], cwd=folder,
                   stdout=subprocess.DEVNULL)


def take(driver, page, selector, out):
    browser.show(driver, page, *SIZE, SCHEME)
    if selector:
        driver.execute_script("document.querySelector(arguments[0]).scrollIntoView()", selector)
        WebDriverWait(driver, browser.PATIENCE).until(lambda _: driver.execute_script(
            "return document.querySelector(arguments[0]).dataset.ready", selector))
    out.write_bytes(small_png.smaller(driver.get_screenshot_as_png()))


def main():
    heaptape, folder = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    if reason := browser.missing():
        sys.exit(f"screenshots: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="heaptape-shots-") as pages:
        make_pages(heaptape, Path(pages))
        driver = browser.start()
        try:
            for name, page, selector in SHOTS:
                out = folder / f"{name}.png"
                take(driver, Path(pages) / f"{page}.html", selector, out)
                print(f"{out}: {out.stat().st_size:,} bytes")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
