"""The journal of a search: Optuna's study in a file, held by one process at a time."""

from __future__ import annotations

import fcntl
import json
import os
from typing import Any

from .. import files
from .._native import Error
from ..tool import missing_modules
from .replays import OBJECTIVES

JOURNAL = "trials.journal"

_STUDY = "tune"
_OF = "of"


def load_optuna() -> Any:
    """Makes it quiet. Raises Error if it, or a package that the page needs, is not installed."""
    if missing := missing_modules(("optuna", "jinja2")):
        raise Error(f"heaptape tune needs {missing}")
    import optuna
    import optuna.storages.journal

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class _Held:
    """A lock for Optuna, according to its protocol: this process already holds the file."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


class Journal:
    """`study` is the one in `folder`: a new one or, with `resume`, the existing one.

    `of` describes the search, as JSON.
    """

    def __init__(self, folder: str, of: str, *, resume: bool) -> None:
        self._path = os.path.join(folder, JOURNAL)
        there = os.path.exists(self._path)
        if there and not resume:
            raise Error(
                f"'{folder}' has a search already: go on with --resume, or name another directory"
            )
        if resume and not there:
            raise Error(f"there is no search in '{folder}' to go on with: leave out --resume")
        self._hold(folder)
        if there:
            self._drop_half_line()
        optuna = load_optuna()
        try:
            self.study = self._open(optuna)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.close()
            raise Error(
                f"'{self._path}' is damaged: remove it, or name another directory"
            ) from None
        before = self.study.user_attrs.get(_OF)
        if before is not None and before != of:
            self.close()
            raise Error(
                f"the search in '{folder}' is another one ({_differences(before, of)}): "
                "repeat its command with --resume, or name another directory"
            )
        if before is None:
            self.study.set_user_attr(_OF, of)

    def close(self) -> None:
        """Other processes may use the directory afterwards."""
        os.close(self._held)

    def _hold(self, folder: str) -> None:
        """Takes a lock that the kernel releases if the process is killed, unlike Optuna's own."""
        self._held = files.open_own(self._path)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise Error(f"another heaptape tune is at work in '{folder}'") from None

    def _drop_half_line(self) -> None:
        """Left by a process killed while writing: Optuna would refuse the whole journal."""
        with open(self._path, "r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)

    def _open(self, optuna: Any) -> Any:
        backend = optuna.storages.journal.JournalFileBackend(self._path, lock_obj=_Held())
        return optuna.create_study(
            storage=optuna.storages.JournalStorage(backend),
            study_name=_STUDY,
            directions=["minimize"] * len(OBJECTIVES),
            load_if_exists=True,
        )


def _differences(before: str, now: str) -> str:
    old, new = json.loads(before), json.loads(now)
    return "other " + " and ".join(name for name in new if old.get(name) != new[name])
