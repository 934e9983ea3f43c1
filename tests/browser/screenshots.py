"""Makes the pictures of docs/images: `./dev screenshots`.

usage: python3 -m tests.browser.screenshots HEAPTAPE FOLDER

Pages are of the recordings in docs/questions. Each shot is taken on a desk and on a phone, light and dark.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from . import browser, small_png

if not browser.missing():
    from selenium.webdriver.support.wait import WebDriverWait

LOOKS = [(size, scheme) for size in ((1440, 900), (390, 844)) for scheme in ("light", "dark")]
# Name of the shot, page, and what a script shows of it: the top of the page, or an element.
SHOTS = [
    ("first-redis", "redis", None),
    ("first-python", "python", None),
    ("heap-redis", "redis", "#map"),  # at the plateau, where it begins
    ("explain-python", "explain", None),
    ("comparison", "diff", None),
]


def make_pages(heaptape, folder):
    questions = Path("docs/questions")

    def run(*words):
        subprocess.run([heaptape, *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    run("replay", questions / "redis.tape", "--html", folder / "redis.html")
    run("replay", questions / "python.tape", "--html", folder / "python.html")
    run("explain", questions / "python.tape", "-a", "model:ptmalloc", "--html", folder / "explain.html")
    # What a cache of blocks in each thread costs.
    run("replay", questions / "threads.tape", "-a", "ptmalloc=model:ptmalloc:arena_max=1", "-a", "slabs=model:slabs:tcache=off", "-o", folder / "main.json")
    run("replay", questions / "threads.tape", "-a", "ptmalloc=model:ptmalloc", "-a", "slabs=model:slabs", "-o", folder / "branch.json")
    subprocess.run([heaptape, "diff", "main.json", "branch.json", "--fail-if", "peak.committedBytes>+5%", "--html", "diff.html"], cwd=folder,
                   stdout=subprocess.DEVNULL)


def take(driver, page, selector, size, scheme, out):
    browser.show(driver, page, *size, scheme)
    if selector:
        driver.execute_script("document.querySelector(arguments[0]).scrollIntoView()", selector)
        WebDriverWait(driver, 20).until(lambda _: driver.execute_script(
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
                for size, scheme in LOOKS:
                    out = folder / f"{name}-{'desk' if size[0] > 500 else 'phone'}-{scheme}.png"
                    take(driver, Path(pages) / f"{page}.html", selector, size, scheme, out)
                    print(f"{out}: {out.stat().st_size:,} bytes")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
