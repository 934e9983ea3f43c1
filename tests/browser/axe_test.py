"""Pages, as axe-core judges them: nothing that keeps people with other senses or devices from reading them."""

from pathlib import Path

from . import browser, harness
from .harness import heaptape
from .replay_pages import ReplayPages

# What `./dev test` installs by requirements.txt.
INSTALLED = Path(__file__).resolve().parents[2] / "build/axe"
LOOKS = [{"width": width, "height": height, "scheme": scheme} for width, height in ((1440, 900), (390, 844)) for scheme in ("light", "dark")]
RUN = """const done = arguments[0];
axe.run(document, {resultTypes: ["violations"]}).then((found) => done(found.violations), (error) => done(String(error)));"""


def axe_script():
    found = list(INSTALLED.glob("venv/lib/python3*/site-packages/axe_playwright_python/axe.min.js"))
    if not found:
        raise RuntimeError("axe-core is not in build/axe: `./dev test` installs it, and so does\n"
                           "python3 -m venv build/axe/venv && build/axe/venv/bin/pip install --no-deps -r tests/browser/requirements.txt")
    return found[0].read_text("utf-8")


class Axe(ReplayPages):
    wanted = ("stacks", "pinned", "process, replayed", "hostile", "redis")

    @classmethod
    def make(cls):
        super().make()
        cls.axe = axe_script()
        cls.paths = {name: made.path for name, made in cls.pages.items()}
        for name, spec in (("stacks", "model:ptmalloc"), ("process", "recorded")):
            path = cls.paths["explain " + name] = cls.folder / f"explain-{name}.html"
            heaptape("explain", cls.folder / f"{name}.tape", "-a", spec, "--at", "peak", "--html", path)
        path = cls.paths["diff"] = cls.folder / "diff.html"
        heaptape("diff", cls.folder / "stacks.json", cls.folder / "pinned.json", "--run", "model:ptmalloc", "--html", path,
                 "--fail-if", "peak.liveBytes>0", "--fail-if", "end.liveBytes<1", status=1)

    def violations(self):
        """As "impact rule: place, ..."."""
        self.driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true;")
        self.driver.execute_script(self.axe)
        found = self.driver.execute_async_script(RUN)
        self.assertIsInstance(found, list, found)
        return [f"{one['impact']} {one['id']}: " + ", ".join(str(node["target"]) for node in one["nodes"][:5]) + " " +
                (one["nodes"][0]["failureSummary"] or "") for one in found]

    def test_finds_nothing(self):
        for name, path in self.paths.items():
            for looks in LOOKS:
                with self.subTest(name, **looks):
                    browser.show(self.driver, path, **looks)
                    self.assertEqual(self.violations(), [])

    def test_would_find_a_picture_without_a_name(self):
        browser.show(self.driver, self.paths["stacks"])
        self.driver.execute_script("document.getElementById('main').append(document.createElement('img'))")
        self.assertTrue(any(one.startswith("critical image-alt") for one in self.violations()))


if __name__ == "__main__":
    harness.main("axe_test")
