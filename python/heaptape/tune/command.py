"""heaptape tune TAPE... -o DIR"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from .._native import Error
from ..command_words import Parser, percentage, print_result, seconds, stop_on_sigterm, whole_number
from ..texts import display_text
from ..tool import ToolError
from .journal import JOURNAL
from .knobs import ALLOCATORS
from .replays import MEMORY
from .summary import summary


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="heaptape tune",
        description="Search for better settings of an allocator on tapes (docs/howto-tune.md).",
        epilog="Example: heaptape tune server.tape --allocator glibc --budget 5m -o tuned",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("tapes", nargs="+", metavar="TAPE")
    add("-o", "--output", required=True, metavar="DIR", help="gets tune.json and tune.html")
    add(
        "--allocator",
        choices=ALLOCATORS,
        help="default: the one that the first tape was recorded on, if it is one of these, "
        "else glibc",
    )
    add(
        "--search-on",
        choices=("model", "library"),
        help="default: the model, where there is one; the library has more knobs",
    )
    add(
        "--objective",
        choices=MEMORY,
        help="what the answer is about (default: the peak or the plateau, as the verdict of "
        "heaptape replay on the first tape)",
    )
    add("--resume", action="store_true", help="go on with the search in DIR")
    _add_limits(parser.add_argument_group("limits"))
    return parser


def _add_limits(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--budget",
        type=seconds,
        metavar="TIME",
        help="limit of the whole: 90s, 10m, 2h (default 10m)",
    )
    add(
        "--trials",
        type=whole_number(1),
        metavar="N",
        help="settings to try; without a budget, no other limit",
    )
    add("--seed", type=int, default=1, metavar="N", help="the same seed tries the same (default 1)")
    add(
        "--jobs",
        type=whole_number(1),
        metavar="N",
        help="replays at the same time (default: processors)",
    )
    add(
        "--repeat",
        type=whole_number(0),
        default=5,
        metavar="N",
        help="times that each measurement of time is made; 0: no times (default 5)",
    )
    add(
        "--max-slowdown",
        type=percentage,
        metavar="PERCENT",
        help="no candidates: settings measured to be slower than the default by more, such as 3%%",
    )
    add(
        "--hold-out",
        type=whole_number(0),
        metavar="N",
        help="tapes that are not searched on (default: a third, if there are several)",
    )


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _tune(arguments: argparse.Namespace) -> dict[str, Any]:
    from .tuning import tune

    return tune(
        arguments.tapes,
        arguments.output,
        allocator=arguments.allocator,
        engine=arguments.search_on,
        budget=arguments.budget,
        trials=arguments.trials,
        seed=arguments.seed,
        jobs=arguments.jobs,
        repeats=arguments.repeat,
        hold_out=arguments.hold_out,
        objective=arguments.objective,
        max_slowdown=arguments.max_slowdown,
        resume=arguments.resume,
        say=_say,
    )


def _stop_message(output: str) -> str:
    if not os.path.exists(os.path.join(output, JOURNAL)):
        return "stopped before anything was tried"
    return "stopped; --resume goes on with this search"


def main() -> int:
    arguments = _parser().parse_args()
    try:
        with stop_on_sigterm():
            result = _tune(arguments)
    except (Error, OSError) as error:
        if sys.stderr.isatty():
            print(file=sys.stderr)
        print(f"heaptape: {display_text(str(error))}", file=sys.stderr)
        return 1 if isinstance(error, ToolError) and error.status == 1 else 2
    except KeyboardInterrupt:
        print(f"\nheaptape: {_stop_message(arguments.output)}", file=sys.stderr)
        return 130
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    path = display_text(os.path.join(arguments.output, "tune.html"))
    print_result(f"{summary(result)}\nthe page with all of it is {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
