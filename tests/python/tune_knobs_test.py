"""heaptape.tune.knobs: what may be set, and that it does something."""

import pathlib
import platform

import pytest
from conftest import QUESTIONS

import heaptape
from heaptape.run_figures import figures
from heaptape.tool import installed_version
from heaptape.tune.knobs import ALLOCATORS, allocator_of, has_model, space, variables

THREADS = QUESTIONS / "threads.tape"
LEAST_CHANGE = 0.001
EFFECTS = [
    "peak.committedBytes",
    "peak.residentBytes",
    "mean.residentBytes",
    "end.residentBytes",
    "counters.memoryCalls",
    "counters.pageFaults",
]


@pytest.fixture(scope="module")
def manifests(tool, tmp_path_factory):
    """Makes a tape of so many."""
    folder = tmp_path_factory.mktemp("knobs")

    def make(count):
        tool("scenario", "manifest-patching", "--set", f"manifests={count}", "-o", folder / "tape")
        return folder / "tape"

    return make


def alone(space_, i, level):
    return tuple(level if j == i else 0 for j in range(len(space_.knobs)))


def ends(knob):
    return sorted({1, len(knob.values)})


def runs(tape, specs):
    labelled = [f"{i}={spec}" for i, spec in enumerate(specs)]
    return heaptape.replay(tape, labelled, options=["--jobs", "2"]).json["runs"]


def changes(base, other):
    return [
        name
        for name in EFFECTS
        if base.get(name) and abs((other.get(name) or 0) / base[name] - 1) > LEAST_CHANGE
    ]


# Knobs that the installed library does not heed any more.
GONE = {}
if tuple(map(int, platform.libc_ver()[1].split("."))) >= (2, 43):
    GONE["glibc", "library"] = {"mxfast"}

HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")

ENGINES = [(name, "library") for name in ALLOCATORS]
ENGINES += [(name, "model") for name in ALLOCATORS if has_model(name)]


@pytest.mark.parametrize(("allocator", "engine"), ENGINES)
def test_each_knob_changes_a_replay_at_one_end_of_its_range(allocator, engine, manifests):
    space_ = space(allocator, engine, version=installed_version(allocator))
    idle = dict(enumerate(space_.knobs))
    # tcmalloc's release rate acts only after a GiB was freed.
    for tape in (THREADS, manifests(60 if allocator == "tcmalloc" else 15)):
        settings = [alone(space_, i, level) for i in idle for level in ends(space_.knobs[i])]
        specs = [space_.spec(setting, 2) for setting in (space_.default, *settings)]
        base, *others = map(figures, runs(tape, specs))
        for setting, other in zip(settings, others, strict=True):
            if changes(base, other):
                idle.pop(next(i for i, level in enumerate(setting) if level), None)
    names = {knob.name for knob in idle.values()}
    if not HUGE_PAGES.exists() or "[never]" in HUGE_PAGES.read_text():
        names.discard("allow_thp")
    assert names == GONE.get((allocator, engine), set())


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_every_value_is_known_to_the_library(allocator):
    space_ = space(allocator, "library", version=installed_version(allocator))
    settings = [
        alone(space_, i, level)
        for i, knob in enumerate(space_.knobs)
        for level in range(1, len(knob.values) + 1)
    ]
    specs = [space_.spec(setting, 2) for setting in settings]
    labelled = [f"{i}={spec}" for i, spec in enumerate(specs)]
    report = heaptape.replay(THREADS, labelled, options=["--to", "100", "--jobs", "2"])
    for run in report.json["runs"]:
        notes = str(run.get("notes"))
        assert "failure" not in run
        assert "it has no effect here" not in notes
        assert "it printed output" not in notes


VERSIONS = [*((name, "") for name in ALLOCATORS), ("mimalloc", "3.4.3")]


@pytest.mark.parametrize(("allocator", "version"), VERSIONS)
def test_each_knob_says_what_it_is(allocator, version):
    for knob in space(allocator, "library", version=version).knobs:
        assert "{}" in knob.text
        assert knob.meaning.endswith(".")
        assert knob.source
        assert knob.beware.endswith(".")
        assert knob.default
        assert len(set(knob.values)) == len(knob.values) == len(knob.model_values)


@pytest.mark.parametrize(("allocator", "version"), VERSIONS)
def test_no_knob_fills_memory_or_ends_the_program(allocator, version):
    knobs = space(allocator, "library", version=version).knobs
    texts = {f"{knob.variable} {knob.text}" for knob in knobs}
    for word in ("perturb", "check", "junk", "abort", "zero", "LIMIT", "DISALLOW_OS_ALLOC"):
        assert not [text for text in texts if word in text]


def set_all(space_):
    return (1,) * len(space_.knobs)


def test_settings_of_one_variable_are_joined():
    space_ = space("glibc", "model", threads=False)
    line = space_.line((1, 0, 1, 0, 0))
    assert line == "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=16384:glibc.malloc.top_pad=0"


def test_variables_of_their_own_stand_side_by_side():
    line = space("tcmalloc", "library").line((1, 1, 0, 0, 0))
    assert line == (
        "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=524288 TCMALLOC_AGGRESSIVE_DECOMMIT=true"
    )


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_the_line_is_the_same_to_a_shell(allocator, tmp_path):
    import subprocess

    space_ = space(allocator, "library")
    names = list(space_.environment(set_all(space_)))
    script = f"env {space_.line(set_all(space_))} env"
    printed = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    found = dict(line.split("=", 1) for line in printed.stdout.splitlines() if "=" in line)
    assert {name: found[name] for name in names} == space_.environment(set_all(space_))


def test_the_model_writes_switches_its_own_way():
    space_ = space("jemalloc", "model")
    i = [knob.name for knob in space_.knobs].index("tcache")
    assert space_.spec(alone(space_, i, 1), 2) == "model:slabs:cores=2,tcache=off"
    assert space_.spec(alone(space_, i, 1), 2, "library") == "jemalloc MALLOC_CONF=tcache:false"


def names_of(version):
    return [knob.name for knob in space("mimalloc", "library", version=version).knobs]


def test_mimalloc_3_has_knobs_of_its_own():
    assert names_of("2.0.9") == names_of("")
    assert names_of("4.0") == names_of("3.6.0")
    assert not set(names_of("3.6.0")) & set(names_of("2.0.9"))
    assert space("mimalloc", "library", version="3.6.0").version == "3.4.3"


def test_a_knob_is_not_tried_on_a_version_that_lacks_it():
    assert "allow_thp" not in names_of("3.0.1")
    assert "allow_thp" not in names_of("3.1.5")
    assert names_of("3.1.6") == [*names_of("3.0.1"), "allow_thp"]


def test_the_environment_is_kept_free_of_the_knobs_of_all_versions():
    assert {"MIMALLOC_DECOMMIT_DELAY", "MIMALLOC_PURGE_DELAY"} <= set(variables("mimalloc"))


def test_what_matters_for_threads_alone_is_not_tried_on_one():
    names = [knob.name for knob in space("glibc", "model", threads=False).knobs]
    assert "arena_max" not in names
    assert "mmap_threshold" in names


def test_first_comes_the_default_and_then_each_knob_alone():
    space_ = space("glibc", "model")
    first, *others = space_.starts()
    assert not any(first)
    assert all(sum(map(bool, setting)) == 1 for setting in others)
    assert {max(range(6), key=setting.__getitem__) for setting in others} == set(range(6))


@pytest.mark.parametrize(
    ("file", "allocator"),
    [
        ("/lib/x86_64-linux-gnu/libc.so.6", "glibc"),
        ("/lib/x86_64-linux-gnu/libjemalloc.so.2", "jemalloc"),
        ("/usr/lib/libmimalloc.so.2.0", "mimalloc"),
        ("/usr/lib/libtcmalloc_minimal.so.4", "tcmalloc"),
        ("scenario", "glibc"),
    ],
)
def test_a_tape_says_which_allocator_it_was_recorded_on(file, allocator):
    assert allocator_of({"allocator": file, "allocatorFamily": ""}) == allocator


def test_the_family_on_the_tape_counts_and_not_the_file_name():
    facts = {"allocator": "/opt/je.so", "allocatorFamily": "jemalloc"}
    assert allocator_of(facts) == "jemalloc"
    facts = {"allocator": "/opt/libjemalloc.so.2", "allocatorFamily": "rpmalloc"}
    assert allocator_of(facts) == "glibc"
