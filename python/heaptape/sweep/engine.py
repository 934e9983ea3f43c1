"""Tasks of a sweep on Ray: on this machine, or on a cluster."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import fcntl
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from .._native import Error
from .options import Machines

ATTEMPTS = 5  # of a task whose worker or node died

_IN_FLIGHT = 64  # tasks submitted at once at most, or twice the processors if more
_OBJECT_STORE_BYTES = 80 << 20  # the least that Ray takes; results go without it
_POLL_SECONDS = 1.0
_CONNECT_SECONDS = 10.0
_PREFIX = "heaptape-ray-"
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")

T = TypeVar("T")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class Lost:
    """A task that was given up."""

    why: str


@dataclasses.dataclass(frozen=True)
class _Flying(Generic[T]):
    item: T
    attempt: int
    node: str | None  # the one that it has for itself


class Engine:
    """Ray, started at the first use. A Ray that runs in this process is used and left running."""

    def __init__(self, machines: Machines) -> None:
        self._address = machines.address
        self._jobs = machines.jobs
        self._stack = contextlib.ExitStack()
        self._nodes: tuple[float, dict[str, float]] = (-_POLL_SECONDS, {})
        self._is_own = False  # Ray was started here, on this machine
        self.retried = 0  # tasks, after a worker or node died

    @property
    def is_cluster(self) -> bool:
        return self._address is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def outcomes(
        self,
        items: Iterable[T],
        function: Callable[[T], R],
        *,
        exclusive: Collection[str] | None = None,
    ) -> Iterator[tuple[T, R | Lost]]:
        """Outcomes in the order of completion. With `exclusive` nodes, each task has one to itself.

        Ray itself would retry some tasks forever, such as those killed for lack of memory. They
        are retried here, so that all have the same limit.
        """
        import ray

        waiting = collections.deque((item, 1) for item in items)
        if not waiting:
            return
        self.start()
        task = ray.remote(max_retries=0)(function)
        flying: dict[Any, _Flying[T]] = {}
        try:
            yield from self._run_tasks(task, waiting, flying, exclusive)
        except KeyboardInterrupt:
            # A Ray of our own ends now, with its workers, and 2.60 aborts this process if a task
            # completes while it is canceled (task_manager.cc: "unexpected system state").
            if self._is_own:
                flying.clear()
            raise
        finally:
            for reference in flying:
                ray.cancel(reference, force=True)

    def _run_tasks(
        self,
        task: Any,
        waiting: collections.deque[tuple[T, int]],
        flying: dict[Any, _Flying[T]],
        exclusive: Collection[str] | None,
    ) -> Iterator[tuple[T, Any]]:
        again: list[tuple[float, T, int]] = []  # not before that time
        while waiting or flying or again:
            due = [one for one in again if one[0] <= time.monotonic()]
            again = [one for one in again if one not in due]
            waiting.extendleft((item, attempt) for _, item, attempt in due)
            self._submit(task, waiting, flying, exclusive)
            if not flying and not again:
                raise Error("no node of the sweep is alive")
            for flown, result in self._take_results(flying):
                if not isinstance(result, Lost):
                    yield flown.item, result
                elif flown.attempt == ATTEMPTS:
                    yield flown.item, Lost(f"{result.why}, {ATTEMPTS} times")
                else:
                    self.retried += 1
                    delay = 3.0 ** (flown.attempt - 1)  # until a dead node is known to be dead
                    again.append((time.monotonic() + delay, flown.item, flown.attempt + 1))

    def _take_results(self, flying: dict[Any, _Flying[T]]) -> Iterator[tuple[_Flying[T], Any]]:
        """The results that have arrived. Waits at most _POLL_SECONDS for one."""
        import ray

        if not flying:
            time.sleep(_POLL_SECONDS)
            return
        ray.wait(list(flying), num_returns=1, timeout=_POLL_SECONDS)
        done, _ = ray.wait(list(flying), num_returns=len(flying), timeout=0)
        for reference in done:
            yield flying.pop(reference), self._result(reference)

    def on_each_node(self, function: Callable[[], str]) -> dict[str, str]:
        """The results of the function on each node, by the id of the node."""
        import ray

        self.start()
        task = ray.remote(max_retries=2, num_cpus=0)(function)
        asked = {
            node: task.options(scheduling_strategy=_only(node)).remote() for node in self.nodes()
        }
        told = {}
        for node, reference in asked.items():
            with contextlib.suppress(ray.exceptions.RayError):
                told[node] = ray.get(reference)
        return told

    def nodes(self) -> dict[str, float]:
        """The processors of each living node that has some, by its id; asked once a second."""
        import ray

        asked, nodes = self._nodes
        if time.monotonic() - asked >= _POLL_SECONDS:
            nodes = {
                node["NodeID"]: node["Resources"]["CPU"]
                for node in ray.nodes()  # type: ignore[no-untyped-call]
                if node["Alive"] and node["Resources"].get("CPU")
            }
            self._nodes = (time.monotonic(), nodes)
        return nodes

    def _submit(
        self,
        task: Any,
        waiting: collections.deque[tuple[T, int]],
        flying: dict[Any, _Flying[T]],
        exclusive: Collection[str] | None,
    ) -> None:
        if exclusive is None:
            most = max(_IN_FLIGHT, 2 * int(sum(self.nodes().values())))
            while waiting and len(flying) < most:
                item, attempt = waiting.popleft()
                flying[task.options(num_cpus=1).remote(item)] = _Flying(item, attempt, None)
            return
        busy = {flown.node for flown in flying.values()}
        for node, processors in self.nodes().items():
            if waiting and node in exclusive and node not in busy:
                item, attempt = waiting.popleft()
                options = task.options(num_cpus=processors, scheduling_strategy=_only(node))
                flying[options.remote(item)] = _Flying(item, attempt, node)

    def _result(self, reference: Any) -> Any:
        import ray

        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError:
            raise  # our own fault
        except ray.exceptions.OutOfMemoryError:
            return Lost("Ray killed its worker because the machine's memory ran out")
        except ray.exceptions.RayError as error:
            return Lost(f"its worker or node died ({type(error).__name__})")

    def start(self) -> None:
        import ray

        if ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        words: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self._address is None:
            self._is_own = True
            words |= {
                "address": "local",
                "num_cpus": self._jobs,
                "include_dashboard": False,
                "object_store_memory": _OBJECT_STORE_BYTES,
                "_system_config": {"worker_niceness": 0},  # Ray has 15, which times would show
                "_temp_dir": self._stack.enter_context(_session_folder()),
            }
            self._stack.enter_context(_for_this_user_alone())
        else:
            _check_address(self._address)
            words["address"] = self._address
        self._stack.callback(ray.shutdown)
        try:
            with _keep_sigterm():
                ray.init(**words)
        except Exception as error:  # noqa: BLE001, Ray has many, with long texts
            where = "Ray" if self._address is None else f"Ray at '{self._address}'"
            said = " ".join(str(error).split()) or type(error).__name__
            raise Error(f"cannot start a sweep on {where}: {said}") from None


@contextlib.contextmanager
def _for_this_user_alone() -> Iterator[None]:
    """A Ray that starts here listens on the loopback interface, and takes tasks with a token only.

    Ray itself listens on all interfaces. It uses only the loopback interface where it supports no
    clusters, as on macOS; a variable decides that. The token is new, and no file has it.
    """
    from ray._private import ray_constants
    from ray._raylet import AuthenticationTokenLoader, Config

    loader = AuthenticationTokenLoader.instance()
    before = {name: os.environ.get(name) for name in (*_LOOPBACK, *_AUTHENTICATION)}
    clusters = ray_constants.ENABLE_RAY_CLUSTER
    os.environ.update(_LOOPBACK, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    os.environ.pop("RAY_AUTH_TOKEN_PATH", None)
    ray_constants.ENABLE_RAY_CLUSTER = False
    Config.initialize("")  # reads the mode again
    loader.reset_cache()
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = clusters
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        Config.initialize("")
        loader.reset_cache()


@contextlib.contextmanager
def _keep_sigterm() -> Iterator[None]:
    """Restores the handler that Ray replaces in the main thread, the only one that may set one."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _check_address(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return  # such as auto
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise Error(f"there is no Ray at '{address}': {error}") from None


def _only(node: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


@contextlib.contextmanager
def _session_folder() -> Iterator[str]:
    """For Ray's logs and sockets: gone with the sweep, or when the next one begins.

    A sweep holds a lock on its directory, which is free when the sweep is dead. The paths of
    sockets have at most 107 characters, so a long TMPDIR is ignored.
    """
    parent = tempfile.gettempdir()
    parent = parent if len(parent) <= 20 else "/tmp"
    with os.scandir(parent) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX):
                continue
            with contextlib.suppress(OSError):  # another sweep removes it, or uses it
                if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    with _lock(entry.path):
                        shutil.rmtree(entry.path, ignore_errors=True)
    path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
    with _lock(path):
        yield path
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _lock(folder: str) -> Iterator[None]:
    """Raises OSError if another process has the lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
