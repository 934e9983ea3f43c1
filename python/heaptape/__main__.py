"""python -m heaptape parquet TAPE|REPORT... -o DIR"""

from __future__ import annotations

import argparse
import sys

from ._native import Error
from .parquet import REPORT_TABLES, TAPE_TABLES, write_dataset


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m heaptape")
    commands = parser.add_subparsers(dest="command", required=True)
    parquet = commands.add_parser(
        "parquet",
        help="write tapes and reports as a dataset of Parquet files",
        epilog="Example: python -m heaptape parquet *.tape main.json -o dataset",
    )
    parquet.add_argument("inputs", nargs="+", metavar="TAPE|REPORT")
    parquet.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="the dataset's directory"
    )
    parquet.add_argument(
        "--tables",
        metavar="NAME,...",
        help=f"some of {', '.join((*TAPE_TABLES, *REPORT_TABLES))} (default: all)",
    )
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    tables = None if arguments.tables is None else arguments.tables.split(",")
    try:
        write_dataset(arguments.inputs, arguments.output, tables)
    except Error as error:
        print(f"heaptape: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
