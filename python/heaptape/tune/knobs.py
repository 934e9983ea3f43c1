"""Knobs of an allocator: their names, their syntax, and the values to try.

knobs/ALLOCATOR.toml has them as data, and knobs/mimalloc3.toml those of mimalloc 3:

    allocator, version   its name and version; `files`: prefixes of the names of its libraries
    library, model       the specs of `heaptape replay -a`; without a model, only the library is
                         searched on
    cores                the model's option for the number of processors
    peak                 the metric of the most memory that the allocator takes
    separator            between the settings of one variable
    outside              other variables that the library reads
    [work.ENGINE]        nanoseconds for `call`, each call of the program, for `page`, each page
                         fault, and for each count of a counter
    [[knob]]             `variable` and `text`, in which {} is the value; `model`: the model's
                         option; `kind`: "log" (`from`, `to`, `step`), "choice" or "switch"
                         (`values`, and `model_values` if the model writes them otherwise);
                         `default`: as text; `threads`: it does nothing for one thread;
                         `since`: earlier versions lack it

An unset knob is a value of its own, level 0: setting some of glibc's knobs to their defaults
changes the rules.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import itertools
import re
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

ALLOCATORS = ("glibc", "jemalloc", "mimalloc", "tcmalloc")

Setting = tuple[int, ...]  # the level of each knob of a space, 0: not set


@dataclasses.dataclass(frozen=True)
class Knob:
    name: str
    variable: str
    text: str
    values: tuple[str, ...]  # of the levels 1, 2, ...
    model: str | None
    model_values: tuple[str, ...]
    kind: str
    unit: str
    default: str
    meaning: str
    source: str
    beware: str

    def value(self, level: int) -> str:
        return self.values[level - 1] if level else "unset"


@dataclasses.dataclass(frozen=True)
class Space:
    """The space to search: an allocator on one of two engines, its "model" or its "library"."""

    allocator: str
    version: str
    engine: str
    spec_of: dict[str, str]  # of each engine
    cores: str | None
    files: tuple[str, ...]
    peak: str
    separator: str
    work: dict[str, float]
    knobs: tuple[Knob, ...]

    @property
    def default(self) -> Setting:
        return (0,) * len(self.knobs)

    def spec(self, setting: Setting, cores: int, engine: str | None = None) -> str:
        """The argument of `heaptape replay -a`."""
        if (engine or self.engine) == "library":
            words = [f"{name}={value}" for name, value in self.environment(setting).items()]
            return " ".join([self.spec_of["library"], *words])
        options = [f"{self.cores}={cores}"] if self.cores else []
        options += [
            f"{knob.model}={knob.model_values[level - 1]}" for knob, level in self._levels(setting)
        ]
        return self.spec_of["model"] + (":" + ",".join(options) if options else "")

    def environment(self, setting: Setting) -> dict[str, str]:
        """The variables to set, by name."""
        found: dict[str, list[str]] = {}
        for knob, level in self._levels(setting):
            found.setdefault(knob.variable, []).append(knob.text.format(knob.value(level)))
        return {name: self.separator.join(texts) for name, texts in found.items()}

    def line(self, setting: Setting) -> str:
        """For a shell. Empty for the default."""
        variables = self.environment(setting).items()
        return " ".join(f"{name}={shlex.quote(value)}" for name, value in variables)

    def knob_values(self, setting: Setting) -> dict[str, str]:
        """The values that are set, by knob."""
        return {knob.name: knob.value(level) for knob, level in self._levels(setting)}

    def text(self, setting: Setting) -> str:
        values = self.knob_values(setting).items()
        return ", ".join(f"{name}={value}" for name, value in values) or "default"

    def starts(self) -> list[Setting]:
        """The first trials: the default, then each knob alone at both ends of its range."""
        found = [self.default]
        for i, knob in enumerate(self.knobs):
            for level in (1, len(knob.values)):
                setting = (*self.default[:i], level, *self.default[i + 1 :])
                if setting not in found:
                    found.append(setting)
        return found

    def _levels(self, setting: Setting) -> list[tuple[Knob, int]]:
        pairs = zip(self.knobs, setting, strict=True)
        return [(knob, level) for knob, level in pairs if level]


def space(allocator: str, engine: str, *, threads: bool = True, version: str = "") -> Space:
    """`threads`: there are tapes of several threads. `version`: of the library, if it is known."""
    data = _data(_file(allocator, version))
    knobs = tuple(
        _knob(each)
        for each in data["knob"]
        if (engine == "library" or "model" in each)
        and (threads or not each.get("threads"))
        and (not version or _numbers(version) >= _numbers(each.get("since", "")))
    )
    return Space(
        allocator=allocator,
        version=data["version"],
        engine=engine,
        spec_of={name: data[name] for name in ("library", "model") if name in data},
        cores=data.get("cores"),
        files=tuple(data["files"]),
        peak=data["peak"],
        separator=data["separator"],
        work=data["work"][engine],
        knobs=knobs,
    )


def variables(allocator: str) -> list[str]:
    """The environment variables that change the behavior of the library, of any version."""
    found: set[str] = set()
    for data in (_data(allocator), _data(_file(allocator, "3"))):
        found.update(knob["variable"] for knob in data["knob"])
        found.update(data.get("outside", []))
    return sorted(found)


def has_model(allocator: str) -> bool:
    return "model" in _data(allocator)


def allocator_of(facts: Mapping[str, Any]) -> str:
    """The allocator that a tape was recorded on, if it is one of these; else glibc.

    If a tape does not name its family, the name of the library's file decides.
    """
    family = facts.get("allocatorFamily")
    if family:
        return str(family) if family in ALLOCATORS else "glibc"
    file = str(facts.get("allocator") or "").rpartition("/")[2]
    for name in ALLOCATORS:
        if any(file.startswith(begin) for begin in _data(name)["files"]):
            return name
    return "glibc"


def _numbers(version: str) -> list[int]:
    return [int(word) for word in re.findall(r"\d+", version)]


def _file(allocator: str, version: str) -> str:
    """The name of the file of that version's knobs: mimalloc 3 has others than mimalloc 2."""
    return "mimalloc3" if allocator == "mimalloc" and _numbers(version) >= [3] else allocator


@functools.cache
def _data(file: str) -> dict[str, Any]:
    folder = importlib.resources.files(__package__).joinpath("knobs")
    return tomllib.loads(folder.joinpath(f"{file}.toml").read_text("utf-8"))


def _knob(data: dict[str, Any]) -> Knob:
    values = tuple(map(str, _ladder(data)))
    return Knob(
        name=data["name"],
        variable=data["variable"],
        text=data["text"],
        values=values,
        model=data.get("model"),
        model_values=tuple(data.get("model_values", values)),
        kind=data["kind"],
        unit=data["unit"],
        default=data["default"],
        meaning=data["meaning"],
        source=data["source"],
        beware=data["beware"],
    )


def _ladder(data: dict[str, Any]) -> list[Any]:
    if data["kind"] != "log":
        return list(data["values"])
    steps = itertools.takewhile(
        lambda value: value <= data["to"],
        (data["from"] * data["step"] ** i for i in itertools.count()),
    )
    return list(steps)
