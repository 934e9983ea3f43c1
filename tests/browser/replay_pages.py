"""Pages of `heaptape replay --html` that several tests look at."""

import subprocess

from . import browser, harness
from .harness import Made, Pages, heaptape

MODELS = ("-a", "one=model:ptmalloc", "-a", "model:slabs")
THREE = (*MODELS, "-a", "recorded", "--jobs", "2")

LONG_NAMES = [f"{first}{'-and-what-else-was-set-for-it' * 3}-{first}" for first in ("the-old-one", "the-new-one")]

# By name: the tape, and the options of its replay. Tapes are those of MAKE_PAGE_TAPES, scenarios, and docs/questions.
PAGES = {
    "stacks": ("stacks", "-a", "model:ptmalloc"),
    "small": ("small", "-a", "model:ptmalloc"),
    "holes": ("holes", "-a", "model:ptmalloc"),
    "sampled": ("sampled", "-a", "model:ptmalloc"),
    "pinned": ("pinned", "-a", "model:ptmalloc", "-a", "recorded", "-a", "noop"),
    "process": ("process", "-a", "recorded", "-a", "noop"),
    "process, replayed": ("process", "-a", "recorded", "-a", "model:ptmalloc"),
    "hostile": ("hostile", "-a", "<img>=model:ideal", "-a", "<b>&amp;=model:ptmalloc"),
    "fill": ("fill", *THREE),
    "fill, 20,000 samples": ("fill", *THREE, "--samples", "20k"),
    "random": ("random-slots", *MODELS),
    "random, 2,000 samples": ("random-slots", "-a", "glibc", *MODELS, "--samples", "2000"),
    "random, noop": ("random-slots", "-a", "noop"),
    "long names": ("stacks", *(word for name in LONG_NAMES for word in ("-a", f"{name}=model:ptmalloc"))),
    "redis": ("redis", "-a", "model:ptmalloc"),
}
SCENARIOS = ("fill", "random-slots")
RECORDED = {"redis": "docs/questions/redis.tape"}
HOSTILE = "<img src=x onerror=hostile=1>.tape"


class ReplayPages(Pages):
    """Has `pages`: those of PAGES that a subclass names in `wanted`."""

    wanted = ()

    @classmethod
    def make(cls):
        subprocess.run([harness.MAKE_TAPES, cls.folder], check=True, timeout=browser.PATIENCE)
        (cls.folder / "hostile.tape").rename(cls.folder / HOSTILE)
        (cls.folder / "hostile.tape.symbols").rename(cls.folder / f"{HOSTILE}.symbols")
        cls.pages = {}
        for name in cls.wanted:
            tape, *options = PAGES[name]
            cls.pages[name] = Made(cls.folder, name, cls.tape(tape), *options)

    @classmethod
    def tape(cls, name):
        path = cls.folder / (HOSTILE if name == "hostile" else f"{name}.tape")
        if name in SCENARIOS and not path.exists():
            heaptape("scenario", name, "-o", path)
        return RECORDED.get(name, path)

    def show(self, name, **looks):
        browser.show(self.driver, self.pages[name].path, **looks)
