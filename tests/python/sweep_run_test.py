"""Sweeps on Ray: what is replayed, what is not replayed again, and what a kill leaves."""

import concurrent.futures
import contextlib
import functools
import http.server
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from conftest import QUESTIONS
from processes import (
    WAIT_SECONDS,
    children,
    command,
    descendants,
    is_agent,
    is_alive,
    replaying,
    until,
)

import heaptape
from heaptape._native import report_figures
from heaptape.run_figures import figures
from heaptape.sweep import Comparison, Machines, ReplayOptions, node, resume, sweep
from heaptape.sweep import run as run_module
from heaptape.sweep.engine import Engine
from heaptape.sweep.task import Job, replay_cell

SPECS = ["model:ideal", "glibc"]


@pytest.fixture(scope="module")
def ray():
    """One for the sweeps of this process."""
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with (
        tempfile.TemporaryDirectory() as directory,  # pytest's path is too long for Ray's sockets
        pytest.MonkeyPatch.context() as patch,
        Engine(Machines(jobs=2)) as engine,
    ):
        patch.setenv("TMPDIR", directory)
        engine.start()
        assert signal.getsignal(signal.SIGTERM) == on_sigterm
        yield engine


@pytest.fixture(scope="module")
def tapes(tool, tmp_path_factory):
    """Three tapes, the last one of two million calls."""
    folder = tmp_path_factory.mktemp("tapes")
    for name in ("growth", "threads"):
        shutil.copy(QUESTIONS / f"{name}.tape", folder)
    words = ["--set", "events=2000000", "-o", folder / "slots.tape"]
    tool("scenario", "random-slots", *words)
    return folder


@pytest.fixture(scope="module")
def whole(ray, tapes, tmp_path_factory):
    """A sweep that nobody disturbed, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    return sweep(tapes, SPECS, folder), folder


def of_run(run):
    """Its figures, but for the one that the kernel has a word in."""
    found = figures(run)
    found.pop("counters.pageFaults", None)
    return found


def of_cells(swept):
    return {
        (cell.tape.name, cell.candidate.label): cell.run and of_run(cell.run)
        for cell in swept.cells
    }


def replayed_cells(swept):
    return [
        (cell.tape.name, cell.candidate.label)
        for cell in swept.cells
        if not cell.cached and cell.error is None
    ]


def test_cells_have_the_figures_of_direct_replays(whole, tapes, tmp_path):
    found = of_cells(whole[0])
    assert len(found) == 6
    for (name, label), cell in found.items():
        path = tmp_path / "report.json"
        options = ["--jobs", "2"]
        report = heaptape.replay(tapes / f"{name}.tape", [label], output=path, options=options)
        direct = of_run(report.json["runs"][0])
        direct["mean.residentBytes"] = round(direct["mean.residentBytes"])
        as_diff = report_figures(bytes(path))
        as_diff.pop("counters.pageFaults", None)
        assert cell == direct | as_diff


def test_a_second_sweep_reads_no_tape_and_replays_nothing(whole, tapes, monkeypatch):
    monkeypatch.setattr(run_module, "inspect_tape", None)
    again = sweep(tapes, SPECS, whole[1])
    assert replayed_cells(again) == []
    assert of_cells(again) == of_cells(whole[0])


def test_a_new_candidate_costs_its_own_column_and_a_new_label_nothing(whole, tapes):
    again = sweep(tapes, ["floor=model:ideal", "glibc", "model:slabs"], whole[1])
    assert replayed_cells(again) == [
        (name, "model:slabs") for name in ("growth", "slots", "threads")
    ]
    assert of_cells(again)["growth", "floor"] == of_cells(whole[0])["growth", "model:ideal"]
    assert {cell.run["label"] for cell in again.cells} == {"floor", "glibc", "model:slabs"}


def test_another_folder_shares_a_cache(whole, tapes, tmp_path):
    again = sweep(tapes, SPECS, tmp_path, cache=whole[1] / "cache")
    assert replayed_cells(again) == []


def test_a_sweep_may_run_in_another_thread(ray, monkeypatch):
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", lambda **_: None)
    monkeypatch.setattr("ray.shutdown", lambda: None)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, Engine(Machines("auto")) as engine:
        assert pool.submit(engine.start).result() is None


def test_tapes_with_the_same_bytes_are_replayed_once(ray, tmp_path):
    for name in ("a", "b"):
        shutil.copy(QUESTIONS / "growth.tape", tmp_path / f"{name}.tape")
    swept = sweep(tmp_path, ["model:ideal"], tmp_path / "out")
    assert [cell.tape.name for cell in swept.cells] == ["a", "b"]
    assert len(list((tmp_path / "out").rglob("*.gz"))) == 1


def test_a_tape_that_cannot_be_read_is_a_row_for_each_candidate(ray, tapes, tmp_path):
    content = bytearray((tapes / "growth.tape").read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "damaged.tape").write_bytes(content)
    (tmp_path / "none.tape").write_text("no tape")
    shutil.copy(tapes / "growth.tape", tmp_path)
    for _ in range(2):
        swept = sweep(tmp_path, SPECS, tmp_path / "out")
        errors = {(cell.tape.name, (cell.error or "").partition(" at ")[0]) for cell in swept.cells}
        assert errors == {
            ("damaged", f"'{tmp_path}/damaged.tape' is damaged"),
            ("growth", ""),
            ("none", f"cannot read '{tmp_path}/none.tape': it is not a heaptape tape"),
        }


def test_a_tape_that_was_not_finished_is_told_of(ray, tapes, tmp_path, capsys):
    (tmp_path / "cut.tape").write_bytes((tapes / "slots.tape").read_bytes()[:2000000])
    (cell,) = sweep(tmp_path, ["model:ideal"], tmp_path / "out").cells
    assert cell.run["accounting"]["replayed"] == cell.tape.facts["events"] > 0
    assert "note: 1 tape was not finished, cut first" in capsys.readouterr().err


def test_a_replay_that_takes_too_long_is_a_row(ray, tapes, tmp_path):
    swept = sweep(tapes / "slots.tape", ["model:slabs"], tmp_path, options=ReplayOptions(timeout=0.001))
    (cell,) = swept.cells
    assert cell.error == "its replay took longer than 0.001 s"
    assert not list(tmp_path.rglob("*.gz"))


def test_where_is_asked_before_anything_is_replayed(ray, tapes, tmp_path):
    swept = sweep(tapes, ["model:ideal"], tmp_path, where="events > 1000000")
    assert [cell.tape.name for cell in swept.cells] == ["slots"]


def test_an_action_is_part_of_a_replay(ray, tapes, tmp_path):
    options = ReplayOptions(touch="all", threads="merged", do=("trim@end",))
    (cell,) = sweep(tapes / "threads.tape", ["glibc"], tmp_path, options=options).cells
    assert (cell.run["touch"], cell.run["threads"]) == ("all", "merged")


def test_a_timed_sweep_has_times_and_serves_one_without(ray, tapes, tmp_path):
    words = (tapes / "growth.tape", ["glibc"], tmp_path)
    gates = ("latency.malloc.p99Ns>100s", "max(tape.losses.lostEvents)>0")
    timed = sweep(*words, options=ReplayOptions(timed=True, repeat=2), comparison=Comparison(gates=gates))
    assert timed.cells[0].run["time"]["repeats"] == 2
    assert [verdict.state for verdict in timed.results.verdicts] == ["passed", "passed"]
    space = sweep(*words, comparison=Comparison(gates=gates))
    assert space.cells[0].cached
    assert "time" not in space.cells[0].run
    lacking, passed = space.results.verdicts
    assert (lacking.state, lacking.detail) == ("failed", "has no latency.malloc.p99Ns")
    assert passed.state == "passed"


def test_nothing_runs_beside_an_exclusive_task(ray):
    def stay(_):
        begin = time.monotonic()
        time.sleep(0.02)
        return begin, time.monotonic()

    nodes = ray.on_each_node(node.processor)
    stays = sorted(told for _, told in ray.outcomes(range(8), stay, exclusive=nodes))
    assert len(stays) == 8
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(stays))


def test_tasks_of_a_sweep_that_is_given_up_are_ended(ray):
    def pause(seconds):
        time.sleep(seconds)
        return os.getpid()

    outcomes = ray.outcomes([0, 600], pause)
    next(outcomes)
    outcomes.close()
    until(lambda: not any(command(one)[0] == b"ray::pause" for one in descendants(os.getpid())))


def test_a_node_with_another_build_is_named_with_the_difference(tapes):
    engine, (candidate,) = run_module.choose_candidates(["glibc"])
    words = [str(tapes / "growth.tape"), "", "glibc", "0123", engine, ReplayOptions()]
    outcome = replay_cell(Job("key", *words, 0, str(tapes), os.uname().nodename))
    assert outcome.run is None
    assert outcome.error.startswith(f"on {os.uname().nodename}, {candidate.library} has the build ")
    assert outcome.error.endswith("was started with 0123: install the same one there")


def test_relative_specs_are_those_of_the_folder_where_the_sweep_began(tapes, tmp_path, monkeypatch):
    engine, candidates = run_module.choose_candidates(["model:ptmalloc"])
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(
        "heaptape.sweep.task.choose_candidates",
        lambda specs: seen.append((os.getcwd(), specs)) or (engine, candidates),
    )
    words = [str(tapes / "growth.tape"), "", "model:ptmalloc", None, engine, ReplayOptions()]
    outcome = replay_cell(Job("key", *words, 0, str(tapes), os.uname().nodename))
    assert outcome.error is None
    assert seen == [(os.path.realpath(tapes), ["model:ptmalloc"])]


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):  # noqa: N802, the name that it has to have
        self.server.sent.append(self.path)
        super().do_GET()


@pytest.fixture
def server(tapes):
    """A server of the tapes; `sent` has the paths that somebody got."""
    handler = functools.partial(Handler, directory=str(tapes))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.sent = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_tapes_come_by_http_once(whole, server, tapes, tmp_path):
    url = f"http://127.0.0.1:{server.server_port}"
    words = [f"{url}/growth.tape", f"file://{tapes}/threads.tape", f"{url}/none.tape"]
    for folder in (tmp_path, tmp_path, tmp_path / "anew"):
        swept = sweep(words, SPECS, folder)
        errors = {cell.tape.name for cell in swept.cells if cell.error is not None}
        assert errors == {"none"}
    assert of_cells(swept)["growth", "glibc"] == of_cells(whole[0])["growth", "glibc"]
    assert server.sent.count("/growth.tape") == 2  # another folder inspects its tapes itself


SLOW = ["model:slabs", "model:slabs:decay=off", "model:ptmalloc", "model:ptmalloc:arena_max=1"]


def test_a_cell_whose_worker_is_killed_is_replayed_again(ray, tapes, tmp_path):
    def kill():
        victim = until(lambda: replaying(os.getpid()))[0]
        killed.append(children(victim))
        os.kill(victim, signal.SIGKILL)

    killed = []
    killer = threading.Thread(target=kill)
    killer.start()
    swept = sweep(tapes / "slots.tape", SLOW, tmp_path)
    killer.join()
    assert swept.retried >= 1
    assert [cell.error for cell in swept.cells] == [None] * 4
    until(lambda: not any(map(is_alive, killed[0])))


@contextlib.contextmanager
def start_sweep(*words):
    """A sweep as a command of its own."""
    line = [sys.executable, "-c", "from heaptape.sweep.command import main; exit(main())"]
    process = subprocess.Popen(
        [*line, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def results(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.gz")}


def some_results_while_replaying(folder, process):
    return until(lambda: results(folder) and replaying(process.pid))


@pytest.fixture
def words(ray, tapes, tmp_path):
    return [tapes, *(word for spec in SLOW for word in ("-a", spec)), "-o", tmp_path]


def test_a_driver_that_is_killed_loses_no_result_and_leaves_no_process(words, ray, tmp_path):
    with start_sweep(*words) as process:
        some_results_while_replaying(tmp_path, process)
        processes = [one for one in descendants(process.pid) if not is_agent(one)]
        process.kill()
        until(lambda: not any(map(is_alive, processes)))
    finished = results(tmp_path)
    swept = resume(tmp_path)
    assert finished.items() <= results(tmp_path).items()
    assert len(replayed_cells(swept)) == len(swept.cells) - len(finished) > 0
    whole = sweep(words[0], SLOW, tmp_path / "whole")
    assert of_cells(swept) == of_cells(whole)


def test_ctrl_c_ends_a_sweep_and_says_how_to_resume(words, tmp_path):
    with start_sweep(*words) as process:
        some_results_while_replaying(tmp_path, process)
        processes = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 130
    last = error.splitlines()[-1]
    assert last.endswith(
        f"of 12 cells are finished; `heaptape sweep --resume -o {tmp_path}` goes on"
    )
    assert not any(map(is_alive, processes))


@pytest.fixture
def cluster():
    """Two nodes of one processor each, as processes of this machine; the head has none."""
    from ray.cluster_utils import Cluster

    checks = {"health_check_period_ms": 500, "health_check_failure_threshold": 3}
    head = {"num_cpus": 0, "_system_config": {"health_check_timeout_ms": 2000, **checks}}
    two = Cluster(initialize_head=True, head_node_args=head)
    two.nodes = [two.add_node(num_cpus=1) for _ in range(2)]
    yield two
    two.shutdown()


def test_a_node_that_dies_takes_no_cell_with_it(cluster, words, tmp_path):
    with start_sweep(*words, "--address", cluster.address) as process:
        raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.nodes]
        until(lambda: results(tmp_path) and all(map(replaying, raylets)))
        cluster.remove_node(cluster.nodes[0], allow_graceful=False)
        _, error = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0, error
    assert len(results(tmp_path)) == 12
    assert json.loads((tmp_path / "sweep.json").read_text())
