"""The arguments of `./dev mutate`, and the files and lines that they mean.

`python3 -m tests.mutate.scope ARGUMENT...` checks them and prints the languages of the files: "cpp", "python" or both.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from . import cpp, javascript, python_code
from .mistake import Mistake, mistakes_in

DIRECTORIES = ("base", "schema", "recorder", "replayer", "allocators", "cli", "scenarios", "python/heaptape")
LANGUAGES = {".cc": cpp.changes, ".h": cpp.changes, ".js": javascript.changes, ".py": python_code.changes}
MAX_HEADER_USERS = 16
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


class WrongUse(Exception):
    """A sentence that says what to type instead."""


@dataclass(frozen=True)
class Scope:
    """`lines`: where mistakes may be planted, by file; None: anywhere in it. `listed`: those of a file, if one was given."""

    lines: Mapping[str, set[int] | None]
    count: int
    seed: int
    listed: tuple[Mistake, ...] = ()

    def languages(self) -> list[str]:
        return sorted({"python" if path.startswith("python/") else "cpp" for path in self.lines})


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> "None":  # type: ignore[override]
        raise WrongUse(message)


def git(*words: str) -> str:
    done = subprocess.run(("git", *words), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise WrongUse(f"git {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


def product_files() -> list[str]:
    paths = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *DIRECTORIES).splitlines()
    return [path for path in paths if pathlib.Path(path).suffix in LANGUAGES and os.path.exists(path)]


def natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return int(text)


def parse(words: list[str], below: str) -> Scope:
    """`below`: where the command was called, to which the paths are relative."""
    parser = Parser(prog="./dev mutate", add_help=False)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--changed", nargs="?", const="main")
    parser.add_argument("--mistakes", metavar="FILE")
    parser.add_argument("--count", type=natural, default=20)
    parser.add_argument("--seed", type=natural, default=1)
    arguments = parser.parse_args(words)
    if bool(arguments.changed) + bool(arguments.paths) + bool(arguments.mistakes) > 1:
        raise WrongUse("give one of paths, --changed and --mistakes")
    if arguments.count == 0:
        raise WrongUse("--count 0 plants nothing: give the number of mistakes")
    if arguments.mistakes:
        listed = read_mistakes(os.path.join(below, arguments.mistakes))
        return Scope(dict.fromkeys(mistake.path for mistake in listed), len(listed), 0, listed)
    lines = changed_lines(arguments.changed) if arguments.changed else named_lines(arguments.paths, below)
    return Scope(lines, arguments.count, arguments.seed)


def read_mistakes(file: str) -> tuple[Mistake, ...]:
    """A list in JSON: {"path", "old", "new"} and, if they wish, why. `old` is once in the file of that path."""
    try:
        items = json.loads(pathlib.Path(file).read_text())
        wanted = [(item["path"], item["old"], item["new"], item.get("why", "listed")) for item in items]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise WrongUse(f"'{file}' is no list of mistakes, each with path, old and new: {error}") from error
    if not wanted:
        raise WrongUse(f"'{file}' lists no mistake")
    files = set(product_files())
    found = []
    for number, (path, old, new, why) in enumerate(wanted, 1):
        if path not in files:
            raise WrongUse(f"mistake {number} of '{file}': there is no product code in '{path}'")
        text = pathlib.Path(path).read_text()
        if not old or old == new or text.count(old) != 1:
            raise WrongUse(f"mistake {number} of '{file}': its old text has to be once in {path}, and not be the new one")
        begin = text.index(old)
        line = text.count("\n", 0, begin + len(os.path.commonprefix([old, new]))) + 1
        end = text.find("\n", begin + len(old))
        end = len(text) if end < 0 else end  # lines that are lost are added behind a whole one
        found.append(Mistake(path, line, begin, end, new + text[begin + len(old) : end], why))
    return tuple(found)


def named_lines(paths: list[str], below: str) -> dict[str, set[int] | None]:
    files = product_files()
    found: dict[str, set[int] | None] = {} if paths else dict.fromkeys(files)
    for path in paths:
        inside = os.path.relpath(os.path.join(below, path))
        here = [file for file in files if file == inside or file.startswith(inside + "/") or inside == "."]
        if not here:
            raise WrongUse(f"there is no product code in '{path}': give files or directories of {', '.join(DIRECTORIES)}")
        found.update(dict.fromkeys(here))
    return found


def changed_lines(since: str) -> dict[str, set[int] | None]:
    """Those that differ from the commit at which the branch left `since`, and new files."""
    base = git("merge-base", "HEAD", since).strip()
    files = set(product_files())
    found: dict[str, set[int] | None] = {}
    path = ""
    for line in git("diff", "--unified=0", "--no-color", base, "--", *DIRECTORIES).splitlines():
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif (hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)) and path in files:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            here = found.setdefault(path, set())
            assert here is not None
            here.update(range(first, first + count))
    new = git("ls-files", "--others", "--exclude-standard", "--", *DIRECTORIES).splitlines()
    found.update(dict.fromkeys(path for path in new if path in files))
    if not found:
        raise WrongUse(f"no product code differs from {since}: name an earlier commit after --changed, or give paths")
    return found


def header_users(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """By header, the sources among `texts` that include it, directly or not."""
    includes = {path: [name for name in INCLUDE.findall(text) if name in texts] for path, text in texts.items()}
    users: dict[str, set[str]] = {}
    for source in texts:
        if source.endswith(".h"):
            continue
        reached, left = set(), list(includes[source])
        while left:
            header = left.pop()
            if header not in reached:
                reached.add(header)
                left += includes[header]
        for header in reached:
            users.setdefault(header, set()).add(source)
    return users


def is_mutable(users: set[str], texts: Mapping[str, str]) -> bool:
    """Of a header: its users are few, and one of them is the product's."""
    return len(users) <= MAX_HEADER_USERS and any(user in texts for user in users)


def possible_mistakes(scope: Scope, texts: Mapping[str, str], users: Mapping[str, set[str]]) -> Iterable[Mistake]:
    """A header that many sources include is left out: compiling them all takes minutes for each mistake."""
    for path, lines in scope.lines.items():
        if path.endswith(".h") and not is_mutable(users.get(path, set()), texts):
            continue
        for mistake in mistakes_in(path, texts[path], LANGUAGES[pathlib.Path(path).suffix]):
            if lines is None or mistake.line in lines:
                yield mistake


if __name__ == "__main__":
    try:
        print(*parse(sys.argv[2:], sys.argv[1]).languages())
    except WrongUse as wrong:
        sys.exit(f"dev: mutate: {wrong}")
