"""A sweep's own Ray: it listens on the loopback interface, and does nothing for those without its token."""

import os
import pathlib
import subprocess
import sys

import pytest
from processes import descendants

from heaptape.sweep.engine import Engine
from heaptape.sweep.options import Machines

ASK = """
import sys
from ray._raylet import GcsClient
GcsClient(address=sys.argv[1]).internal_kv_put(b"name", b"value", True, None)
"""
LISTENS = "0A"
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")


@pytest.fixture(scope="module")
def ray_address():
    """The address of a Ray that a sweep has started."""
    import ray

    with Engine(Machines(jobs=1)) as engine:
        engine.start()
        yield ray.get_runtime_context().gcs_address


def sockets_of(pids):
    found = set()
    for pid in pids:
        for link in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[len("socket:[") : -1])
    return found


def listening_addresses(sockets):
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and words[9] in sockets:
                yield words[1].partition(":")[0]


def ask(address, **environment):
    """As a client of its own, which finds no token of this user's."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.run(
        [sys.executable, "-c", ASK, address],
        env=plain | {"HOME": "/nonexistent"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# Before the others, which leave their Ray running.
def test_what_the_user_has_set_comes_back(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a" * 64)
    with Engine(Machines(jobs=1)) as engine:
        engine.start()
        assert os.environ["RAY_AUTH_MODE"] == "token"
        first = os.environ["RAY_AUTH_TOKEN"]
        assert first != "a" * 64
    assert os.environ["RAY_AUTH_MODE"] == "disabled"
    assert os.environ["RAY_AUTH_TOKEN"] == "a" * 64
    assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ


def test_it_listens_on_the_loopback_interface_alone(ray_address):
    addresses = list(listening_addresses(sockets_of([os.getpid(), *descendants(os.getpid())])))
    assert len(addresses) >= 3
    assert set(addresses) <= set(LOOPBACK)


def test_its_token_is_asked_for(ray_address):
    token = os.environ["RAY_AUTH_TOKEN"]
    assert len(token) == 64
    allowed = ask(ray_address, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)
    assert allowed.returncode == 0, allowed.stderr
    for environment in (
        {},
        {"RAY_AUTH_MODE": "disabled"},
        {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64},
    ):
        refused = ask(ray_address, **environment)
        assert refused.returncode != 0
        assert "Authentication" in refused.stderr
