"""summary.py NAME LOG: one line on a run of a fuzz target. In the log, each line of libFuzzer's begins with the time in
seconds. Called by `./dev fuzz all` and `./dev test`."""

import re
import sys


def summary(name: str, lines: list[str]) -> str:
    coverage = [
        (int(found[1]), int(found[3]))
        for line in lines
        if (found := re.match(r"(\d+) #\d+\s+(?!READ|pulse)(\w+)\s+cov: (\d+)", line))
    ]
    done = re.search(r"Done (\d+) runs in (\d+) second", "\n".join(lines))
    if done is None or not coverage:
        raise SystemExit(f"{name}: the log has no result")
    (began, first), (_, last) = coverage[0], coverage[-1]
    text = f"{name}: {int(done[1]):,} inputs in {done[2]} s, {last:,} edges covered"
    if last == first:
        return text + ", none of them new"
    grew = next(time for time, edges in coverage if edges == last)
    return f"{text}, {last - first:,} of them new, the last after {grew - began} s"


if __name__ == "__main__":
    name, log = sys.argv[1:]
    with open(log, encoding="utf-8", errors="replace") as file:
        print(summary(name, file.read().splitlines()))
