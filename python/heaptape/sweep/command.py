"""heaptape sweep TAPES... -a SPEC... -o DIR"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence

from .._native import Error
from ..command_words import Parser, print_result, seconds, stop_on_sigterm, whole_number
from ..texts import display_text, quantity_text
from ..tool import missing_modules
from .node import FETCHED_BYTES
from .options import Comparison, Machines, ReplayOptions
from .progress import Progress
from .run import Swept, resume, sweep

_NEEDED = ("ray", "fsspec", "filelock", "pyarrow", "duckdb", "jinja2")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_WITH_RESUME = ("address", "jobs", "bytes", "resume", "output")  # not in the plan

_EPILOG = """Example: heaptape sweep traces/ -a glibc -a jemalloc -a 'purge=jemalloc
MALLOC_CONF=dirty_decay_ms:0' --where "service = 'web'" --baseline glibc -o sweep"""


def main(words: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(words)
    if missing := missing_modules(_NEEDED):
        return _say(f"`heaptape sweep` needs {missing}", 2)
    progress = Progress(sys.stderr)
    try:
        with stop_on_sigterm():
            swept = _sweep(arguments, progress)
    except Error as error:
        progress.close()
        return _say(str(error), 2)
    except KeyboardInterrupt:
        progress.close()
        return _say(_stop_message(progress, arguments.output), 130)
    print_result(swept.results.text(exact=arguments.bytes))
    return _exit_status(swept)


def _stop_message(progress: Progress, output: str) -> str:
    if progress.total == 0:
        return "stopped before anything was replayed"
    return (
        f"stopped: {progress.finished:,} of {progress.total:,} cells are finished; "
        f"`heaptape sweep --resume -o {shlex.quote(output)}` goes on"
    )


def _sweep(arguments: argparse.Namespace, progress: Progress) -> Swept:
    if arguments.address is not None and arguments.jobs is not None:
        raise Error("--jobs is for this machine: the nodes of a cluster know their processors")
    machines = Machines(arguments.address, arguments.jobs)
    if arguments.resume:
        _check_resume(arguments)
        return resume(arguments.output, machines=machines, progress=progress)
    if not arguments.tapes:
        raise Error("there are no tapes: name tapes, directories, manifests or URIs")
    if arguments.repeat is not None and not arguments.time:
        raise Error("--repeat is for times: add --time")
    return sweep(
        arguments.tapes,
        arguments.allocator,
        arguments.output,
        resolver=arguments.resolver,
        where=arguments.where,
        options=ReplayOptions(
            touch=arguments.touch,
            threads=arguments.threads,
            clock=arguments.clock,
            do=tuple(arguments.do),
            timed=arguments.time,
            repeat=arguments.repeat or 1,
            timeout=arguments.timeout,
        ),
        cache=arguments.cache,
        comparison=Comparison(arguments.baseline, arguments.against, tuple(arguments.fail_if)),
        fetched_bytes=arguments.fetched_bytes,
        machines=machines,
        progress=progress,
    )


def _check_resume(arguments: argparse.Namespace) -> None:
    usual = _parser().parse_args(["-o", arguments.output])
    for name, value in vars(arguments).items():
        if name not in _WITH_RESUME and value != getattr(usual, name):
            said = "tapes" if name == "tapes" else f"--{name.replace('_', '-')}"
            raise Error(
                f"--resume goes on with the same sweep, without {said}: omit --resume to "
                "change it; finished replays stay in its cache"
            )


def _exit_status(swept: Swept) -> int:
    """The exit status; says why it is not 0."""
    failed = swept.results.failed
    if failed:
        first = swept.results.json["errors"][0]
        which = f"first {first['tape']} on {first['candidate']}: {first['error']}"
        _say(f"{quantity_text(failed, 'cell')} failed, {which}", 1)
    if not swept.results.passed:
        _say("a gate failed", 1)
    return 1 if failed or not swept.results.passed else 0


def _say(text: str, status: int) -> int:
    print(f"heaptape: {display_text(text)}", file=sys.stderr)
    return status


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)([kmgt]?)", text.lower())
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size, such as 500M or 20G")
    return int(match[1]) * _UNITS[match[2]]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="heaptape sweep",
        description="Replay many tapes on many allocators, on this machine or a Ray cluster",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("tapes", nargs="*", metavar="TAPES", help="tapes, globs, directories, manifests or URIs")
    add(
        *("-a", "--allocator"),
        action="append",
        default=[],
        metavar="SPEC",
        help="as for `heaptape replay`; may be repeated (default: glibc, jemalloc, mimalloc and "
        "tcmalloc, those that are installed)",
    )
    add("-o", "--output", required=True, metavar="DIR", help="the directory of the sweep")
    add(
        "--resume",
        action="store_true",
        help="go on with the sweep in DIR; needs no other arguments",
    )
    add("--bytes", action="store_true", help="print sizes to the byte")
    _add_tapes(parser.add_argument_group("tapes"))
    _add_results(parser.add_argument_group("results"))
    _add_machines(parser.add_argument_group("machines"))
    replay = parser.add_argument_group("as for `heaptape replay`")
    replay.add_argument("--touch", choices=("all", "none", "page"))
    replay.add_argument("--threads", choices=("free", "lockstep", "merged", "ordered"))
    replay.add_argument("--clock", choices=("real", "tape"))
    replay.add_argument("--do", action="append", default=[], metavar="ACTION")
    return parser


def _add_tapes(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--where",
        metavar="EXPR",
        help="take tapes for which this is true: SQL over name, uri, metadata and facts",
    )
    group.add_argument(
        "--resolver",
        metavar="MODULE:FUNCTION",
        help="a function of yours, from TAPES to pairs of URI and metadata",
    )
    group.add_argument(
        "--fetched-bytes",
        type=_bytes,
        default=FETCHED_BYTES,
        metavar="SIZE",
        help="most bytes of fetched tapes that a machine keeps (default 20G)",
    )


def _add_results(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--cache", metavar="DIR", help="where replay results are cached (default: in -o DIR)")
    add("--baseline", metavar="LABEL", help="the candidate that others are compared with")
    add("--against", metavar="OLD", help="compare with another sweep: its directory or sweep.json")
    add(
        "--fail-if",
        action="append",
        default=[],
        metavar="GATE",
        help="exit 1 if this holds, such as 'p90(peak.residentBytes)>+3%%'; may be repeated",
    )


def _add_machines(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--address", metavar="RAY", help="address of a Ray cluster: auto or HOST:PORT")
    add(
        "--jobs",
        type=whole_number(1),
        metavar="N",
        help="replays at a time on this machine (default: its processors)",
    )
    add(
        "--time",
        action="store_true",
        help="also measure times: nothing else of the sweep runs on a machine meanwhile",
    )
    add(
        "--repeat",
        type=whole_number(1),
        metavar="N",
        help="with --time: replays of a cell (default 1)",
    )
    add(
        "--timeout",
        type=seconds,
        metavar="TIME",
        help="limit of a replay: 90s, 10m, 2h (default: none)",
    )


if __name__ == "__main__":
    sys.exit(main())
